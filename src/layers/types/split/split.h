/// Split: one blob for several readers. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class SplitLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {1, 1, 1, -1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    return std::vector<Shape>(static_cast<size_t>(param().top_size()), bottoms[0]);
  }
  bool repeats_bottom() const override { return true; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
};

}  // namespace robusta
