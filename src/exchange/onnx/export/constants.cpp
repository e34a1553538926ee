// Layers whose tops are known before the net runs: they are computed once, by their own kernels, and written as arrays.

#include "exchange/onnx/export/emitter.h"

namespace robusta {
namespace {

void emit_constants(LayerEmission& layer) {
  for (int i = 0; i < layer.tops(); ++i) {
    for (const Dim& dim : layer.top_dims(i)) layer.require_fixed(dim, "an extent of what it makes");
    const std::string array = layer.floats("top." + layer.param().top(i), layer.top_shape(i), layer.constant_top(i));
    layer.top(i, "Identity", {array});
  }
}

/// Of features and image only the extents matter.
void emit_prior_box(LayerEmission& layer) { emit_constants(layer); }

void emit_dummy_data(LayerEmission& layer) {
  for (const caffe::FillerParameter& filler : layer.param().dummy_data_param().data_filler()) {
    if (filler.type() != "constant")
      layer.refuse("it draws its numbers anew for each batch", "dummy_data_param.data_filler");
  }
  emit_constants(layer);
}

[[maybe_unused]] const bool registered_constants[] = {
    register_onnx_emitter("PriorBox", emit_prior_box),
    register_onnx_emitter("DummyData", emit_dummy_data),
    register_onnx_emitter("Parameter", emit_constants),
    register_onnx_emitter("ContinuationIndicator", emit_constants),
};

}  // namespace
}  // namespace robusta
