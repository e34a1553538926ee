// ROIWarping: each region of the features, resized to pooled_h x pooled_w, and what its corners do to that (Dai, He,
// Sun 2016, "Instance-aware semantic segmentation via multi-task network cascades", section 3.2;
// src/caffe/layers/roi_warping_layer.cu of daijifeng001/caffe-mnc).
//
// Corners are rounded to pixels of the features, and have the gradient that they would have without rounding. There,
// places are counted a little wrong for it: by the size of the region and one more pixel.

#include "layers/kit/region_samples.h"

namespace robusta {
namespace {

class RoiWarpingLayer : public RegionSamplingLayer {
 public:
  explicit RoiWarpingLayer(const caffe::LayerParameter& param) : RegionSamplingLayer(param) {
    const caffe::ROIWarpingParameter& p = param.roi_warping_param();
    require_bins(p.pooled_h(), p.pooled_w(), "roi_warping_param");
    require_spatial_scale(p.spatial_scale(), "roi_warping_param.spatial_scale");
    const int64_t rows = p.pooled_h(), columns = p.pooled_w();
    set_grid({.scale = p.spatial_scale(),
              .rounds = true,
              .rows = rows,
              .columns = columns,
              .row_steps = rows,
              .column_steps = columns});
  }
  bool has_corner_gradient() const override { return param().propagate_down_size() < 2 || param().propagate_down(1); }
};

}  // namespace

ROBUSTA_REGISTER_REGION_SAMPLING("ROIWarping", RoiWarpingLayer);

}  // namespace robusta
