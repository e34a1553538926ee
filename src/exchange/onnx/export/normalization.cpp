// LRN; BatchNorm and BN; MVN, Normalize and L2Norm.

#include <cmath>

#include "exchange/onnx/export/emitter.h"
#include "layers/kit/channel_norm.h"
#include "layers/kit/row_norm.h"
#include "layers/types/batch_norm/batch_norm.h"
#include "layers/types/bn/bn.h"
#include "layers/types/lrn/lrn.h"

namespace robusta {
namespace {

/// The operator is Caffe's, with `bias` for k. Within channels: x s^-beta of s = 1 + alpha * the mean of x^2, where
/// what lies outside of the image counts as zero.
void emit_lrn(LayerEmission& layer) {
  const auto& lrn = layer.as<LrnLayer>();
  const std::string& x = layer.bottom(0);
  if (lrn.across_channels()) {
    return layer.top(0, "LRN", {x},
                     {{"size", lrn.size()}, {"alpha", lrn.alpha()}, {"beta", lrn.beta()}, {"bias", lrn.k()}});
  }
  const int64_t size = lrn.size(), reach = size / 2;
  const std::string mean = layer.node("AveragePool", {layer.node("Mul", {x, x})},
                                      {{"kernel_shape", std::vector<int64_t>{size, size}},
                                       {"strides", std::vector<int64_t>{1, 1}},
                                       {"pads", std::vector<int64_t>(4, reach)},
                                       {"count_include_pad", int64_t{1}}});
  const std::string scaled = layer.node("Mul", {mean, layer.number(lrn.alpha())});
  const std::string s = layer.node("Add", {scaled, layer.number(1)});
  layer.top(0, "Div", {x, layer.node("Pow", {s, layer.number(lrn.beta())})});
}

/// A parameter of channels that scales or shifts the values behind the batch.
Shape by_channel(int64_t channels, int axes) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(axes - 1, 1)), 1);
  dims[0] = channels;
  return Shape(dims);
}

std::vector<float> stored_moments(LayerEmission& layer, const ChannelNormPlan& plan, int place, float standard) {
  if (place < 0) return std::vector<float>(static_cast<size_t>(plan.channels), standard);
  std::vector<float> moments = layer.param_values(place);
  if (plan.batches < 0) return moments;
  const double batches = layer.param_values(plan.batches)[0];
  for (float& moment : moments) moment = batches == 0 ? 0 : static_cast<float>(moment / batches);
  return moments;
}

std::string per_channel(LayerEmission& layer, const ChannelNormPlan& plan, int place, const char* what,
                        float standard) {
  const Shape shape{plan.channels};
  if (place >= 0) return layer.weights(place, shape);
  return layer.floats(what, shape, std::vector<float>(static_cast<size_t>(plan.channels), standard));
}

/// (sqrt(variance) + eps)^2 where that is what is divided by: there is no eps then.
std::vector<float> stored_variances(LayerEmission& layer, const ChannelNormPlan& plan) {
  std::vector<float> variances = stored_moments(layer, plan, plan.variance, 1);
  for (float& v : variances) {
    if (plan.eps.outside) v = static_cast<float>(std::pow(std::sqrt(v) + plan.eps.value, 2));
  }
  return variances;
}

void emit_by_stored_moments(LayerEmission& layer, const ChannelNormPlan& plan, const std::string& x, bool reshaped) {
  const Shape shape{plan.channels};
  const std::vector<std::string> inputs{x, per_channel(layer, plan, plan.scale, "scale", 1),
                                        per_channel(layer, plan, plan.shift, "shift", 0),
                                        layer.floats("mean", shape, stored_moments(layer, plan, plan.mean, 0)),
                                        layer.floats("variance", shape, stored_variances(layer, plan))};
  const OnnxAttributes attributes{{"epsilon", plan.eps.outside ? 0.0f : static_cast<float>(plan.eps.value)}};
  if (!reshaped) return layer.top(0, "BatchNormalization", inputs, attributes);
  layer.reshape_to_top(0, layer.node("BatchNormalization", inputs, attributes));
}

/// use_global_stats: false
void emit_by_moments_of_batch(LayerEmission& layer, const ChannelNormPlan& plan, const std::string& x, int axes,
                              bool reshaped) {
  std::vector<int64_t> of_channel{0};
  for (int axis = 2; axis < axes; ++axis) of_channel.push_back(axis);
  const std::string mean = layer.node("ReduceMean", {x}, {{"axes", of_channel}});
  const std::string centred = layer.node("Sub", {x, mean});
  const std::string variance =
      layer.node("ReduceMean", {layer.node("Mul", {centred, centred})}, {{"axes", of_channel}});
  const std::string with_eps = layer.node("Add", {variance, layer.number(static_cast<float>(plan.eps.value))});
  std::string y = layer.node("Div", {centred, layer.node("Sqrt", {with_eps})});
  const Shape shape = by_channel(plan.channels, axes);
  if (plan.scale >= 0) y = layer.node("Mul", {y, layer.weights(plan.scale, shape)});
  if (plan.shift >= 0) y = layer.node("Add", {y, layer.weights(plan.shift, shape)});
  if (reshaped) return layer.reshape_to_top(0, y);
  layer.top_is(0, y);
}

/// A bottom of one axis is one channel.
void emit_channel_norm(LayerEmission& layer, const ChannelNormPlan& plan) {
  const bool one_axis = layer.axes() == 1;
  const std::string x =
      one_axis ? layer.reshape(layer.bottom(0), {{1}, {1}, layer.bottom_dims(0)[0]}) : layer.bottom(0);
  if (plan.stored) return emit_by_stored_moments(layer, plan, x, one_axis);
  emit_by_moments_of_batch(layer, plan, x, one_axis ? 3 : layer.axes(), one_axis);
}

void emit_batch_norm(LayerEmission& layer) { emit_channel_norm(layer, layer.as<BatchNormLayer>().plan()); }
void emit_bn(LayerEmission& layer) { emit_channel_norm(layer, layer.as<BnLayer>().plan()); }

/// The axes of a row, all behind the first ones unless it goes along the channels.
std::vector<int64_t> axes_of_row(LayerEmission& layer, const RowNorm& norm) {
  if (norm.by_channel) return {1};
  const Shape shape = layer.bottom_shape(0);
  int first = 1;
  while (first < shape.axes() && shape.count(0, first) != norm.view.outer) ++first;
  std::vector<int64_t> axes;
  for (int axis = first; axis < shape.axes(); ++axis) axes.push_back(axis);
  return axes;
}

/// x / size, or zeros where eps does not save a size of zero: x is zero then.
std::string divided(LayerEmission& layer, const std::string& x, std::string size, double eps) {
  if (eps == 0) {
    const std::string above = layer.node("Greater", {size, layer.number(0)});
    size = layer.node("Where", {above, size, layer.number(1)});
  }
  return layer.node("Div", {x, size});
}

/// y = (x - mean) / size (* scale), the mean and the size of each row by itself (kit/row_norm.h).
void emit_row_norm(LayerEmission& layer) {
  const RowNorm& norm = layer.as<RowNormLayer>().norm();
  std::vector<int64_t> axes = axes_of_row(layer, norm);
  std::string x = layer.bottom(0);
  const bool single = axes.empty();  // rows of one element
  if (single) {
    axes = {layer.axes()};
    x = layer.with_axes_behind(x, layer.axes(), 1);
  }
  const std::string eps = layer.number(static_cast<float>(norm.eps));
  if (norm.centred) x = layer.node("Sub", {x, layer.node("ReduceMean", {x}, {{"axes", axes}})});
  if (norm.size == RowSize::kDeviation) {
    const std::string variance = layer.node("ReduceMean", {layer.node("Mul", {x, x})}, {{"axes", axes}});
    x = divided(layer, x, layer.node("Add", {layer.node("Sqrt", {variance}), eps}), norm.eps);
  } else if (norm.size == RowSize::kLength) {
    const std::string squares = layer.node("ReduceSumSquare", {x}, {{"axes", axes}});
    x = divided(layer, x, layer.node("Sqrt", {layer.node("Add", {squares, eps})}), norm.eps);
  }
  if (single) x = layer.node("Squeeze", {x, layer.integers(axes)});
  if (norm.scales == 0) return layer.top_is(0, x);
  layer.top(0, "Mul", {x, layer.weights(0, norm.scales == 1 ? Shape{1} : by_channel(norm.scales, layer.axes()))});
}

[[maybe_unused]] const bool registered_normalization[] = {
    register_onnx_emitter("LRN", emit_lrn),         register_onnx_emitter("BatchNorm", emit_batch_norm),
    register_onnx_emitter("BN", emit_bn),           register_onnx_emitter("MVN", emit_row_norm),
    register_onnx_emitter("L2Norm", emit_row_norm), register_onnx_emitter("Normalize", emit_row_norm),
};

}  // namespace
}  // namespace robusta
