// ResizeBilinear: images of another size, each pixel from the four around its place (kit/resized_planes.h).
//
// pytorch_half_pixel is half_pixel_centers but for an extent of 1, whose only pixel is then the first of the bottom.

#include "layers/kit/resized_planes.h"

namespace robusta {
namespace {

class ResizeBilinearLayer : public SamplingLayer {
 public:
  explicit ResizeBilinearLayer(const caffe::LayerParameter& param)
      : SamplingLayer(param), planes_(this->param().resize_bilinear_param(), "resize_bilinear_param") {
    const auto& p = param.resize_bilinear_param();
    if (!p.pytorch_half_pixel() || !(p.align_corners() || p.half_pixel_centers())) return;
    throw planes_.bad_field("pytorch_half_pixel", "pytorch_half_pixel stands beside another rule of the same kind",
                            "give one of align_corners, half_pixel_centers and pytorch_half_pixel");
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape top = planes_.top(bottoms[0]);
    const bool pytorch = param().resize_bilinear_param().pytorch_half_pixel();
    const SampledBy by = pytorch ? SampledBy::kMiddles : planes_.sampled_by();
    sampling_ = planes_.sampling(bottoms[0], top, [&](int64_t in, int64_t out) {
      return linear_axis(pytorch && out == 1 ? SampledBy::kEdges : by, in, 0, in, out);
    });
    return {top};
  }

 private:
  ResizedPlanes<caffe::ResizeBilinearParameter> planes_;
};

}  // namespace

ROBUSTA_REGISTER_SAMPLING("ResizeBilinear", ResizeBilinearLayer);

}  // namespace robusta
