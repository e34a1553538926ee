/// ArgMax: the places, or the values, of the largest elements along one axis or over a whole sample. Shared by its
/// kernels.
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
