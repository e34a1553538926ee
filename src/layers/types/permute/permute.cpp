// Permute: the axes of the bottom in another order (Liu et al. 2016, "SSD: Single Shot MultiBox Detector"; rules as in
// weiliu89/caffe).
//
// Axes that `order` does not name follow behind those that it does, in their own order.

#include <algorithm>

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {
namespace {

class PermuteLayer : public GatherLayer, public TellsShapes {
 public:
  using GatherLayer::GatherLayer;
  Arity arity() const override { return {}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    bottom_ = bottoms[0];
    order_.clear();
    for (const int64_t axis : param().permute_param().order()) {
      if (axis >= bottom_.axes()) refuse(str("axis ", axis, " does not exist in shape ", bottom_.str()));
      if (names(static_cast<int>(axis))) refuse(str("axis ", axis, " is named twice"));
      order_.push_back(static_cast<int>(axis));
    }
    for (int axis = 0; axis < bottom_.axes(); ++axis) {
      if (!names(axis)) order_.push_back(axis);
    }
    std::vector<int64_t> dims;
    for (const int axis : order_) dims.push_back(bottom_[axis]);
    return {Shape(std::move(dims))};
  }

  /// As many axes as are named.
  std::optional<Shape> wanted_bottom(size_t, const std::vector<Shape>& bottoms) const override {
    std::vector<int64_t> dims = bottoms[0].dims();
    for (const int64_t axis : param().permute_param().order()) {
      if (axis < 8) dims.resize(std::max(dims.size(), static_cast<size_t>(axis) + 1), 1);
    }
    return dims == bottoms[0].dims() ? std::nullopt : std::optional(Shape(std::move(dims)));
  }
  std::optional<Shape> bottom_for(size_t, const Shape& wanted, const std::vector<Shape>& bottoms) const override {
    if (wanted.axes() != static_cast<int>(order_.size())) return std::nullopt;
    Shape before = bottoms[0];
    for (int axis = 0; axis < wanted.axes(); ++axis) before[order_[static_cast<size_t>(axis)]] = wanted[axis];
    return before;
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (const int axis : order_) {
      steps.push_back({{.extent = bottom_[axis], .stride = strides[static_cast<size_t>(axis)]}});
    }
    return steps;
  }

 private:
  bool names(int axis) const { return std::find(order_.begin(), order_.end(), axis) != order_.end(); }

  [[noreturn]] void refuse(std::string cause) const {
    throw Error(ErrorKind::kConfig, std::move(cause), str("name each axis from 0 to ", bottom_.axes() - 1, " once"))
        .in_field("permute_param.order");
  }

  Shape bottom_;
  std::vector<int> order_;  ///< of each axis of the top: the bottom's
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Permute", PermuteLayer);

}  // namespace robusta
