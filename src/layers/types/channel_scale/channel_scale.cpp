// ChannelScale: every channel of bottom 0 times bottom 1, which has one number for each pixel of each sample: vectors
// along the channels get another length (happynear/caffe-windows).
//
// `do_backward_scale: false` keeps the gradient from bottom 1.

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/product.h"

namespace robusta {
namespace {

class ChannelScaleLayer : public ProductLayer {
 public:
  using ProductLayer::ProductLayer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  bool allows_gradient(int bottom) const override {
    return bottom == 0 || param().channel_scale_param().do_backward_scale();
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape &x = bottoms[0], &scale = bottoms[1];
    if (x.axes() < 2 || scale.axes() < 1 || scale[0] != x[0] || scale.count(1) != x.count(2)) {
      throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", x.str(), ", bottom 1 ", scale.str()),
                  "bottom 1 has one number for each pixel of each sample of bottom 0")
          .in_field("bottom");
    }
    Extents each = x.dims();
    each[1] = 1;
    set_product(make_product(x.dims(), x.dims(), each));
    return {x};
  }
};

}  // namespace

ROBUSTA_REGISTER_PRODUCT("ChannelScale", ChannelScaleLayer);

}  // namespace robusta
