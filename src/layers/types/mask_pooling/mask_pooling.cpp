// MaskPooling: the features of each region times its mask, pixel by pixel (Dai, He, Sun 2016, "Instance-aware semantic
// segmentation via multi-task network cascades"; src/caffe/layers/mask_pooling_layer.cu of daijifeng001/caffe-mnc).
//
// Bottoms: features [regions, channels, height, width]; masks [regions, 1, height, width]. Both have gradients.

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/product.h"

namespace robusta {
namespace {

class MaskPoolingLayer : public ProductLayer {
 public:
  using ProductLayer::ProductLayer;
  Arity arity() const override { return {2, 2, 1, 1}; }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape &features = bottoms[0], &masks = bottoms[1];
    Extents each = features.dims();
    if (each.size() == 4) each[1] = 1;
    if (each.size() != 4 || masks.dims() != each) {
      throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", features.str(), ", bottom 1 ", masks.str()),
                  "wanted are features of four axes, and masks of the same extents with one channel")
          .in_field("bottom");
    }
    set_product(make_product(features.dims(), features.dims(), each));
    return {features};
  }
};

}  // namespace

ROBUSTA_REGISTER_PRODUCT("MaskPooling", MaskPoolingLayer);

}  // namespace robusta
