/// Slice: one blob cut into several along one axis. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class SliceLayer : public Layer, public TellsShapes {
 public:
  explicit SliceLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, 1, 1, -1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// What can be cut: of images, whose parts are pairs mostly, equal parts.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  std::optional<Shape> bottom_for(size_t top, const Shape& wanted, const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
  /// The axis that is cut, counted from the front. After infer_tops.
  int axis() const { return axis_; }

 private:
  /// The axis as the prototxt gives it.
  int given_axis() const;
  /// Extents of the tops along the axis.
  std::vector<int64_t> extents(int64_t whole) const;

  int axis_ = 1;
};

}  // namespace robusta
