// Squeeze: leaves out axes of extent 1: those that `axis` names, or, without any, all (as in
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe).
//
// Plain tensors keep their order of elements, so that top and bottom share their memory wherever lifetimes allow it.

#include <algorithm>

#include "base/str.h"
#include "layers/kit/alias_kernel.h"
#include "layers/kit/axis.h"

namespace robusta {
namespace {

class SqueezeLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    const Shape& bottom = bottoms[0];
    std::vector<bool> leaves(static_cast<size_t>(bottom.axes()), param().squeeze_param().axis().empty());
    for (const int32_t given : param().squeeze_param().axis()) {
      const int axis = canonical_axis(bottom, given, "squeeze_param.axis");
      if (bottom[axis] != 1) {
        throw Error(ErrorKind::kConfig,
                    str("axis ", given, " of shape ", bottom.str(), " has ", bottom[axis], " entries"),
                    "name axes of extent 1, or none for all of these")
            .in_field("squeeze_param.axis");
      }
      leaves[static_cast<size_t>(axis)] = true;
    }
    std::vector<int64_t> dims;
    for (int axis = 0; axis < bottom.axes(); ++axis) {
      if (!leaves[static_cast<size_t>(axis)] || bottom[axis] != 1) dims.push_back(bottom[axis]);
    }
    return {Shape(std::move(dims))};
  }
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Squeeze", SqueezeLayer);
static const bool squeeze_reference = register_kernel({"Squeeze", "reference", "cpu", 0, make_plain_alias});

}  // namespace robusta
