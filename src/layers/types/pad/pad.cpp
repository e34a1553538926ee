// Pad: more entries at the ends of axes, all of them constant_values (as in
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe).
//
// `paddings` holds two numbers for each axis: how many come before and behind. They have no gradient.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/gather_layer.h"

namespace robusta {
namespace {

class PadLayer : public GatherLayer {
 public:
  using GatherLayer::GatherLayer;
  Arity arity() const override { return {}; }
  float fill() const override { return param().pad_param().constant_values(); }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    bottom_ = bottoms[0];
    const int given = param().pad_param().paddings_size();
    if (given != 2 * bottom_.axes()) {
      throw Error(ErrorKind::kConfig, str(given, " paddings for the ", bottom_.axes(), " axes of ", bottom_.str()),
                  "give two for each axis: before and behind")
          .in_field("pad_param.paddings");
    }
    Shape top = bottom_;
    for (int axis = 0; axis < top.axes(); ++axis) top[axis] += before(axis) + behind(axis);
    check_extents(top);
    return {top};
  }

  std::vector<std::vector<GatherAxis>> steps(const std::vector<int64_t>& strides) const override {
    std::vector<std::vector<GatherAxis>> steps;
    for (int axis = 0; axis < bottom_.axes(); ++axis) {
      steps.push_back({{.extent = before(axis) + bottom_[axis] + behind(axis),
                        .stride = strides[static_cast<size_t>(axis)],
                        .before = before(axis),
                        .after = behind(axis)}});
    }
    return steps;
  }

 private:
  int64_t before(int axis) const { return param().pad_param().paddings(2 * axis); }
  int64_t behind(int axis) const { return param().pad_param().paddings(2 * axis + 1); }

  Shape bottom_;
};

}  // namespace

ROBUSTA_REGISTER_GATHER("Pad", PadLayer);

}  // namespace robusta
