// ROIAlign: the features of each region, at the corners of a grid of pooled_h x pooled_w bins (zhaoweicai/mscnn,
// src/caffe/layers/roi_align_layer.cu, which reads roi_pooling_param). An average pooling behind it makes bins of
// these pooled_h + 1 x pooled_w + 1 places. Synopsys' layer of this name, with roi_align_param, is another one.

#include "layers/kit/field_checks.h"
#include "layers/kit/region_samples.h"

namespace robusta {
namespace {

class RoiAlignLayer : public RegionSamplingLayer {
 public:
  explicit RoiAlignLayer(const caffe::LayerParameter& param) : RegionSamplingLayer(param) {
    if (param.has_roi_align_param()) {
      throw Error(ErrorKind::kUnsupported, "Synopsys' ROIAlign is not in this build",
                  "mscnn's has roi_pooling_param, and one more place along each axis")
          .in_field("roi_align_param");
    }
    const caffe::ROIPoolingParameter& p = param.roi_pooling_param();
    require_bins(p.pooled_h(), p.pooled_w(), "roi_pooling_param");
    require_spatial_scale(p.spatial_scale(), "roi_pooling_param.spatial_scale");
    if (require_finite(p.pad_ratio(), "roi_pooling_param.pad_ratio") < 0) {
      throw Error(ErrorKind::kConfig, str("pad_ratio is ", p.pad_ratio()), "give 0, or the part that a region grows by")
          .in_field("roi_pooling_param.pad_ratio");
    }
    const int64_t rows = p.pooled_h(), columns = p.pooled_w();
    set_grid({.scale = p.spatial_scale(),
              .pad_ratio = p.pad_ratio(),
              .rows = rows + 1,
              .columns = columns + 1,
              .row_steps = rows,
              .column_steps = columns});
  }
};

}  // namespace

ROBUSTA_REGISTER_REGION_SAMPLING("ROIAlign", RoiAlignLayer);

}  // namespace robusta
