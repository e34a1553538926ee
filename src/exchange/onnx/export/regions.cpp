// ROIPooling, which MaxRoiPool does alike: corners rounded, bins that overlap, nothing becomes 0.

#include "exchange/onnx/export/emitter.h"
#include "layers/types/roi_pooling/roi_pooling.h"

namespace robusta {
namespace {

void emit_roi_pooling(LayerEmission& layer) {
  const auto& pooling = layer.as<RoiPoolingLayer>();
  if (pooling.scale().pad_ratio != 0) layer.refuse("regions that grow have no operator", "roi_pooling_param.pad_ratio");
  const Dims& rois = layer.bottom_dims(1);
  const std::string regions =
      rois.size() == 2 ? layer.bottom(1) : layer.reshape(layer.bottom(1), {rois[0], merged(rois, 1, layer.axes(1))});
  layer.top(0, "MaxRoiPool", {layer.bottom(0), regions},
            {{"pooled_shape", std::vector<int64_t>{pooling.pooled_h(), pooling.pooled_w()}},
             {"spatial_scale", pooling.scale().scale}});
}

[[maybe_unused]] const bool registered_regions = register_onnx_emitter("ROIPooling", emit_roi_pooling);

}  // namespace
}  // namespace robusta
