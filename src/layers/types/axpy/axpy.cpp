// Axpy: y = a x + z, where bottom 0 has one a for each channel of each sample, bottom 1 is x and bottom 2 is z (Hu et
// al. 2018, "Squeeze-and-Excitation Networks"; hujie-frank/SENet, Intel's and NVIDIA's Caffe).

#include <algorithm>

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/product.h"

namespace robusta {
namespace {

class AxpyLayer : public ProductLayer {
 public:
  using ProductLayer::ProductLayer;
  Arity arity() const override { return {3, 3, 1, 1}; }
  int factor_bottom(int f) const override { return 1 - f; }
  int added_bottom() const override { return 2; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    return 2 * static_cast<double>(tops[0].count());
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape &a = bottoms[0], &x = bottoms[1], &z = bottoms[2];
    if (x != z) {
      throw Error(ErrorKind::kConfig, str("bottom 1 has shape ", x.str(), ", bottom 2 ", z.str()),
                  "what is scaled and what is added have one shape")
          .in_field("bottom");
    }
    if (x.axes() < 2 || a.axes() < 2 || a[0] != x[0] || a[1] != x[1] || a.count(2) != 1) {
      throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", a.str(), ", bottom 1 ", x.str()),
                  "bottom 0 has one number for each channel of each sample of bottom 1")
          .in_field("bottom");
    }
    Extents each = x.dims();
    std::fill(each.begin() + 2, each.end(), 1);
    set_product(make_product(x.dims(), x.dims(), each));
    return {x};
  }
};

}  // namespace

ROBUSTA_REGISTER_PRODUCT("Axpy", AxpyLayer);

}  // namespace robusta
