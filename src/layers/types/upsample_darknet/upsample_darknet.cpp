// UpsampleDarknet: each pixel becomes stride x stride of its kind (kit/sampling.h), as in Synopsys' Caffe
// (foss-for-synopsys-dwc-arc-processors/synopsys-caffe, upsample_darknet_layer.cpp).

#include "layers/kit/bottom_checks.h"
#include "layers/kit/sampling.h"

namespace robusta {
namespace {

class UpsampleDarknetLayer : public SamplingLayer {
 public:
  explicit UpsampleDarknetLayer(const caffe::LayerParameter& param) : SamplingLayer(param) {
    if (stride() >= 1) return;
    throw Error(ErrorKind::kConfig, str("stride is ", stride()), "give at least 1")
        .in_field("upsample_darknet_param.stride");
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& bottom = bottoms[0];
    if (bottom.axes() != 4) {
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels, height and width, not ", bottom.str()));
    }
    const int64_t h = product_or_most(bottom[2], stride()), w = product_or_most(bottom[3], stride());
    check_sampled_extent(h, "height", "upsample_darknet_param.stride");
    check_sampled_extent(w, "width", "upsample_darknet_param.stride");
    return {sample_planes(bottom, nearest_axis(SampledBy::kEdges, bottom[2], h),
                          nearest_axis(SampledBy::kEdges, bottom[3], w))};
  }

 private:
  int64_t stride() const { return param().upsample_darknet_param().stride(); }
};

}  // namespace

ROBUSTA_REGISTER_SAMPLING("UpsampleDarknet", UpsampleDarknetLayer);

}  // namespace robusta
