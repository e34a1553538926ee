// Layers that add and multiply: Scale, Bias, Mul, Axpy, ChannelScale, Eltwise, InnerProduct, Embed.

#include <cmath>

#include "exchange/onnx/export/emitter.h"
#include "layers/kit/spanned_axes.h"
#include "layers/types/bias/bias.h"
#include "layers/types/eltwise/eltwise.h"
#include "layers/types/inner_product/inner_product.h"
#include "layers/types/scale/scale.h"

namespace robusta {
namespace {

/// A parameter for axes that end before `end` of the bottom: ones are written for the axes behind, those in front are
/// matched by themselves.
Shape spanning(const Shape& shape, int behind) {
  std::vector<int64_t> dims = shape.dims();
  dims.insert(dims.end(), static_cast<size_t>(behind), 1);
  return Shape(dims);
}

void emit_scale(LayerEmission& layer) {
  const auto& scale = layer.as<ScaleLayer>();
  const auto& p = layer.param().scale_param();
  const Shape bottom = layer.bottom_shape(0);
  const SpannedAxes span = scale.scale_is_bottom()
                               ? matching_axes(bottom, p.axis(), layer.bottom_shape(1), "scale_param")
                               : spanned_axes(bottom, p.axis(), p.num_axes(), "scale_param");
  const int behind = span.end == span.begin ? 0 : bottom.axes() - span.end;
  const std::string factor = scale.scale_is_bottom() ? layer.with_axes_behind(layer.bottom(1), layer.axes(1), behind)
                                                     : layer.weights(0, spanning(layer.param_shape(0), behind));
  if (!scale.has_bias()) return layer.top(0, "Mul", {layer.bottom(0), factor});
  const int bias = scale.bias_place();
  layer.top(
      0, "Add",
      {layer.node("Mul", {layer.bottom(0), factor}), layer.weights(bias, spanning(layer.param_shape(bias), behind))});
}

void emit_bias(LayerEmission& layer) {
  const auto& p = layer.param().bias_param();
  const Shape bottom = layer.bottom_shape(0);
  const bool second = layer.as<BiasLayer>().bias_is_bottom();
  const SpannedAxes span = second ? matching_axes(bottom, p.axis(), layer.bottom_shape(1), "bias_param")
                                  : spanned_axes(bottom, p.axis(), p.num_axes(), "bias_param");
  const int behind = span.end == span.begin ? 0 : bottom.axes() - span.end;
  const std::string bias = second ? layer.with_axes_behind(layer.bottom(1), layer.axes(1), behind)
                                  : layer.weights(0, spanning(layer.param_shape(0), behind));
  layer.top(0, "Add", {layer.bottom(0), bias});
}

void emit_mul(LayerEmission& layer) {
  layer.top(0, "Mul", {layer.bottom(0), layer.bottoms() > 1 ? layer.bottom(1) : layer.weights(0)});
}

/// One number for each channel of each sample, as [batch, channels, 1...].
std::string by_channels(LayerEmission& layer, int bottom, int axes) {
  const Dims& dims = layer.bottom_dims(bottom);
  Dims wanted{dims[0], dims[1]};
  wanted.resize(static_cast<size_t>(axes), Dim{1});
  return wanted == dims ? layer.bottom(bottom) : layer.reshape(layer.bottom(bottom), wanted);
}

void emit_axpy(LayerEmission& layer) {
  const std::string factor = by_channels(layer, 0, layer.axes(1));
  layer.top(0, "Add", {layer.node("Mul", {layer.bottom(1), factor}), layer.bottom(2)});
}

/// One number for each pixel of each sample, as [batch, 1, pixels...].
void emit_channel_scale(LayerEmission& layer) {
  Dims wanted = layer.bottom_dims(0);
  wanted[1] = Dim{1};
  const bool fits = wanted == layer.bottom_dims(1);
  layer.top(0, "Mul", {layer.bottom(0), fits ? layer.bottom(1) : layer.reshape(layer.bottom(1), wanted)});
}

void emit_eltwise(LayerEmission& layer) {
  const auto& eltwise = layer.as<EltwiseLayer>();
  std::vector<std::string> terms;
  for (int i = 0; i < layer.bottoms(); ++i) {
    const float coeff = eltwise.is_sum() ? eltwise.coeff(i) : 1;
    terms.push_back(coeff == 1 ? layer.bottom(i) : layer.node("Mul", {layer.bottom(i), layer.number(coeff)}));
  }
  if (eltwise.operation() == caffe::EltwiseParameter::MAX) return layer.top(0, "Max", terms);
  const std::string op = eltwise.is_sum() ? "Add" : "Mul";
  std::string joined = terms[0];
  for (size_t i = 1; i + 1 < terms.size(); ++i) joined = layer.node(op, {joined, terms[i]});
  layer.top(0, op, {joined, terms.back()});
}

/// Rows of the weights divided by their lengths; a row of zeros stays.
std::vector<float> normalized(std::vector<float> weights, const InnerProductSize& size) {
  const auto place = [&](int64_t output, int64_t input) {
    return static_cast<size_t>(size.transposed ? input * size.outputs + output : output * size.inputs + input);
  };
  for (int64_t output = 0; output < size.outputs; ++output) {
    double squares = 0;
    for (int64_t input = 0; input < size.inputs; ++input) {
      squares += double{weights[place(output, input)]} * weights[place(output, input)];
    }
    if (squares == 0) continue;
    for (int64_t input = 0; input < size.inputs; ++input) {
      weights[place(output, input)] = static_cast<float>(weights[place(output, input)] / std::sqrt(squares));
    }
  }
  return weights;
}

/// Flatten makes rows of what lies before and behind the axis, whatever the batch is.
void emit_inner_product(LayerEmission& layer) {
  const auto& product = layer.as<InnerProductLayer>();
  const int64_t axis = layer.bottom_shape(0).canonical_axis(layer.param().inner_product_param().axis());
  const bool is_row = axis == 1 && layer.axes() == 2;
  const std::string rows = is_row ? layer.bottom(0) : layer.node("Flatten", {layer.bottom(0)}, {{"axis", axis}});
  std::vector<std::string> inputs{
      rows, product.normalizes()
                ? layer.floats("normalized", layer.param_shape(0), normalized(layer.param_values(0), product.size()))
                : layer.weights(0)};
  if (product.has_bias()) inputs.push_back(layer.weights(1, {product.outputs()}));
  const OnnxAttributes attributes{{"transB", int64_t{!product.transposed()}}};
  if (axis == 1) return layer.top(0, "Gemm", inputs, attributes);
  layer.reshape_to_top(0, layer.node("Gemm", inputs, attributes));
}

void emit_embed(LayerEmission& layer) {
  const std::string ids = layer.node("Cast", {layer.bottom(0)}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  const std::vector<std::string> inputs{layer.weights(0), ids};
  if (!layer.param().embed_param().bias_term()) return layer.top(0, "Gather", inputs, {{"axis", int64_t{0}}});
  layer.top(0, "Add", {layer.node("Gather", inputs, {{"axis", int64_t{0}}}), layer.weights(1)});
}

[[maybe_unused]] const bool registered_products[] = {
    register_onnx_emitter("Scale", emit_scale),
    register_onnx_emitter("Bias", emit_bias),
    register_onnx_emitter("Mul", emit_mul),
    register_onnx_emitter("Axpy", emit_axpy),
    register_onnx_emitter("ChannelScale", emit_channel_scale),
    register_onnx_emitter("Eltwise", emit_eltwise),
    register_onnx_emitter("InnerProduct", emit_inner_product),
    register_onnx_emitter("Embed", emit_embed),
};

}  // namespace
}  // namespace robusta
