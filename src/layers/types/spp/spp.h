/// SPP, spatial pyramid pooling (He et al. 2014, "Spatial Pyramid Pooling in Deep Convolutional Networks for Visual
/// Recognition"): level k of `pyramid_height` pools to 2^k x 2^k bins; the levels of a sample lie one behind the other,
/// each by channels. Shared by its kernels.
///
/// A level is a layer of type Pooling, made here, which the registry has kernels for: with more than one the top is
/// [batch, numbers of a sample], with one alone it is that layer's.
#pragma once

#include <memory>
#include <vector>

#include "layers/kit/layer.h"

namespace robusta {

class SppLayer : public Layer {
 public:
  explicit SppLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  /// A pooling, which kernels share, and the shape of what it gives.
  struct Level {
    std::shared_ptr<const Layer> pooling;
    Shape top;
  };
  /// After infer_tops.
  const std::vector<Level>& levels() const { return levels_; }

 private:
  caffe::LayerParameter pooling_of(int level, const Shape& bottom) const;

  std::vector<Level> levels_;
};

}  // namespace robusta
