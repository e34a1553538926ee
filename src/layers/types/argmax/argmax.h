/// ArgMax: the places, or the values, of the largest elements along one axis or over a whole sample. Shared by its
/// kernels.
///
/// With an axis that axis has top_k elements in the top: places, or values with out_max_val. Without one the top is [N,
/// 1 or 2, top_k, 1, ...], as many axes as the bottom has but at least three: places, then values with out_max_val. As
/// in BVLC Caffe, as is that of equal values the larger place comes first.
#pragma once

#include "layers/kit/axis_view.h"
#include "layers/kit/layer.h"

namespace robusta {

class ArgMaxLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  bool has_axis() const { return param().argmax_param().has_axis(); }
  bool values() const { return param().argmax_param().out_max_val(); }
  int64_t top_k() const { return param().argmax_param().top_k(); }
  /// The axis that is searched; without one a sample counts as a single axis.
  AxisView view(const Shape& bottom) const {
    return has_axis() ? AxisView(bottom, bottom.canonical_axis(param().argmax_param().axis()))
                      : AxisView(Shape{bottom[0], bottom.count(1)}, 1);
  }
};

}  // namespace robusta
