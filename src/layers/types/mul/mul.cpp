// Mul: y = a b, element by element; b is the second bottom, or a parameter of mul_shape (as in
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe).
//
// Axes are matched from the last one on. Where extents differ one of them is 1, and that factor is repeated along the
// axis; so it is along axes that it lacks. The parameter is zero at first.

#include <algorithm>

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/product.h"

namespace robusta {
namespace {

/// The shape with as many axes as `axes`, ones in front.
Extents padded(const Shape& shape, int axes) {
  Extents dims(static_cast<size_t>(axes - shape.axes()), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return dims;
}

class MulLayer : public ProductLayer {
 public:
  using ProductLayer::ProductLayer;
  Arity arity() const override { return {1, 2, 1, 1}; }
  int factor_bottom(int f) const override { return f == 1 && !has_two_bottoms() ? -1 : f; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override {
    if (has_two_bottoms()) return {};
    return {{shape_.get()}};
  }

 private:
  bool has_two_bottoms() const { return param().bottom_size() > 1; }

  FixedShape shape_;
};

std::vector<Shape> MulLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  if (!has_two_bottoms()) {
    const auto& given = param().mul_param().mul_shape();
    const Shape shape(Extents(given.begin(), given.end()));
    check_extents(shape);
    shape_.fix(shape, "the multiplier");
  }
  const Shape &a = bottoms[0], &b = has_two_bottoms() ? bottoms[1] : shape_.get();
  const int axes = std::max(a.axes(), b.axes());
  const Extents first = padded(a, axes), second = padded(b, axes);
  Extents top(first.size());
  for (size_t axis = 0; axis < top.size(); ++axis) {
    top[axis] = std::max(first[axis], second[axis]);
    const int64_t other = std::min(first[axis], second[axis]);
    if (other == top[axis] || other == 1) continue;
    throw Error(ErrorKind::kConfig, str("shapes ", a.str(), " and ", b.str(), " do not fit together"),
                "matched from the last axis on, extents must be equal, or one of them 1")
        .in_field(has_two_bottoms() ? "bottom" : "mul_param.mul_shape");
  }
  check_extents(Shape(top));
  set_product(make_product(top, first, second));
  return {Shape(std::move(top))};
}

}  // namespace

ROBUSTA_REGISTER_PRODUCT("Mul", MulLayer);

}  // namespace robusta
