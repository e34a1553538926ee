/// Concat: several blobs side by side along one axis. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class ConcatLayer : public Layer, public TellsShapes {
 public:
  explicit ConcatLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, -1, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// The shape of another bottom, but for its own extent along the axis.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  /// The axis along which the bottoms lie side by side, counted from the front. After infer_tops.
  int axis() const { return axis_; }

 private:
  /// The axis as the prototxt gives it.
  int given_axis() const;

  int axis_ = 1;
};

}  // namespace robusta
