// Convolution, by its names for a group per channel too, Deconvolution, and Im2col, which is a convolution with filters
// that hold a single 1.

#include "exchange/onnx/export/emitter.h"
#include "layers/kit/convolution_base.h"
#include "layers/types/im2col/im2col_layer.h"

namespace robusta {
namespace {

constexpr size_t kMostSpatialAxes = 3;  // of runtimes

struct WindowAttributes {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

WindowAttributes attributes_of(const std::vector<WindowAxis>& axes) {
  WindowAttributes all;
  for (const WindowAxis& axis : axes) {
    all.kernel.push_back(axis.kernel);
    all.strides.push_back(axis.stride);
    all.dilations.push_back(axis.dilation);
    all.pads.push_back(axis.pad);
  }
  for (const WindowAxis& axis : axes) all.pads.push_back(axis.pad_behind());
  return all;
}

void require_sayable(LayerEmission& layer, const std::vector<WindowAxis>& axes) {
  if (!axes.empty() && axes.size() <= kMostSpatialAxes) return;
  layer.refuse(std::to_string(axes.size()) + " spatial axes: ONNX has convolutions of one to three");
}

/// A bottom of any axes before the channels', as [all of these, channels, spatial...].
std::string as_samples(LayerEmission& layer, int bottom, int channel_axis) {
  if (channel_axis == 1) return layer.bottom(bottom);
  const Dims& dims = layer.bottom_dims(bottom);
  Dims samples{merged(dims, 0, channel_axis)};
  samples.insert(samples.end(), dims.begin() + channel_axis, dims.end());
  return layer.reshape(layer.bottom(bottom), samples);
}

void emit_one(LayerEmission& layer, int i, int channel_axis, const std::string& op, std::vector<std::string> inputs,
              const OnnxAttributes& attributes) {
  inputs.insert(inputs.begin(), as_samples(layer, i, channel_axis));
  if (channel_axis == 1) return layer.top(i, op, inputs, attributes);
  layer.reshape_to_top(i, layer.node(op, inputs, attributes));
}

int channel_axis(LayerEmission& layer) {
  return layer.bottom_shape(0).canonical_axis(layer.param().convolution_param().axis());
}

void emit_convolution(LayerEmission& layer) {
  const auto& convolution = layer.as<ConvolutionBase>();
  const ConvolutionGeometry& geometry = convolution.geometry();
  require_sayable(layer, geometry.axes);
  const WindowAttributes windows = attributes_of(geometry.axes);
  const std::string op = convolution.is_transposed() ? "ConvTranspose" : "Conv";
  std::vector<std::string> inputs{layer.weights(0)};
  if (convolution.has_bias()) inputs.push_back(layer.weights(1, {convolution.top_channels()}));
  for (int i = 0; i < layer.bottoms(); ++i) {
    emit_one(layer, i, channel_axis(layer), op, inputs,
             {{"kernel_shape", windows.kernel},
              {"strides", windows.strides},
              {"dilations", windows.dilations},
              {"pads", windows.pads},
              {"group", geometry.group}});
  }
}

/// Channel c gives its taps one after the other: filter c * taps + t has its 1 at tap t.
void emit_im2col(LayerEmission& layer) {
  const auto& im2col = layer.as<Im2colLayer>();
  require_sayable(layer, im2col.axes());
  const WindowAttributes windows = attributes_of(im2col.axes());
  const int64_t count = taps(im2col.axes()), channels = im2col.channels();
  std::vector<int64_t> shape{channels * count, 1};
  shape.insert(shape.end(), windows.kernel.begin(), windows.kernel.end());
  std::vector<float> filters(static_cast<size_t>(channels * count * count), 0.0f);
  for (int64_t filter = 0; filter < channels * count; ++filter) {
    filters[static_cast<size_t>(filter * count + filter % count)] = 1;
  }
  emit_one(layer, 0, channel_axis(layer), "Conv", {layer.floats("taps", Shape(shape), filters)},
           {{"kernel_shape", windows.kernel},
            {"strides", windows.strides},
            {"dilations", windows.dilations},
            {"pads", windows.pads},
            {"group", channels}});
}

[[maybe_unused]] const bool registered_convolutions[] = {
    register_onnx_emitter("Convolution", emit_convolution),
    register_onnx_emitter("DepthwiseConvolution", emit_convolution),
    register_onnx_emitter("ConvolutionDepthwise", emit_convolution),
    register_onnx_emitter("ConvolutionDepthWise", emit_convolution),
    register_onnx_emitter("Deconvolution", emit_convolution),
    register_onnx_emitter("Im2col", emit_im2col),
};

}  // namespace
}  // namespace robusta
