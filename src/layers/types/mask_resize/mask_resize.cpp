// MaskResize: masks of another size, each pixel from the four around its place (Dai, He, Sun 2016, "Instance-aware
// semantic segmentation via multi-task network cascades"; src/caffe/layers/mask_resize_layer.cu of
// daijifeng001/caffe-mnc). Coordinates stand for the beginnings of pixels.
//
// Beyond the last pixel that pixel counts; there, from half a pixel on, a mask is 0.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/sampling.h"

namespace robusta {
namespace {

class MaskResizeLayer : public SamplingLayer {
 public:
  explicit MaskResizeLayer(const caffe::LayerParameter& param) : SamplingLayer(param) {
    const caffe::MaskResizeParameter& p = param.mask_resize_param();
    check_sampled_extent(p.output_height(), "output_height", "mask_resize_param.output_height");
    check_sampled_extent(p.output_width(), "output_width", "mask_resize_param.output_width");
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& bottom = bottoms[0];
    if (bottom.axes() != 4) {
      throw Error(ErrorKind::kConfig, str("takes an input of four axes, not ", bottom.str()));
    }
    const caffe::MaskResizeParameter& p = param().mask_resize_param();
    check_sampled_extent(bottom[2], "the height", "bottom");
    check_sampled_extent(bottom[3], "the width", "bottom");
    const Shape top = sample_planes(bottom, linear_axis(SampledBy::kEdges, bottom[2], 0, bottom[2], p.output_height()),
                                    linear_axis(SampledBy::kEdges, bottom[3], 0, bottom[3], p.output_width()));
    check_extents(top);
    return {top};
  }
};

}  // namespace

ROBUSTA_REGISTER_SAMPLING("MaskResize", MaskResizeLayer);

}  // namespace robusta
