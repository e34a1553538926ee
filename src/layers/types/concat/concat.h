/// Concat: several blobs side by side along one axis. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class ConcatLayer : public Layer {
 public:
  explicit ConcatLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, -1, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  /// The axis along which the bottoms lie side by side, counted from the front. After infer_tops.
  int axis() const { return axis_; }

 private:
  int axis_ = 1;
};

}  // namespace robusta
