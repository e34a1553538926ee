// Flatten: merges the axes from `axis` to `end_axis` into one.
//
// Plain tensors keep their order of elements, so that top and bottom share their memory wherever lifetimes allow it.

#include "base/str.h"
#include "layers/kit/alias_kernel.h"
#include "layers/kit/axis.h"

namespace robusta {
namespace {

class FlattenLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
};

std::vector<Shape> FlattenLayer::infer_tops(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const auto& given = param().flatten_param();
  const int first = canonical_axis(bottom, given.axis(), "flatten_param.axis");
  const int last = canonical_axis(bottom, given.end_axis(), "flatten_param.end_axis");
  if (last < first) {
    throw Error(ErrorKind::kConfig, str("end_axis ", given.end_axis(), " lies before axis ", given.axis()))
        .in_field("flatten_param.end_axis");
  }
  std::vector<int64_t> dims = bottom.slice(0, first).dims();
  dims.push_back(bottom.count(first, last + 1));
  for (int axis = last + 1; axis < bottom.axes(); ++axis) dims.push_back(bottom[axis]);
  return {Shape(std::move(dims))};
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Flatten", FlattenLayer);
static const bool flatten_reference = register_kernel({"Flatten", "reference", "cpu", 0, make_plain_alias});

}  // namespace robusta
