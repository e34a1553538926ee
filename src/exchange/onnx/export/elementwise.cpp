// Layers that are a function of single elements.

#include <cmath>

#include "exchange/onnx/export/emitter.h"
#include "layers/types/dropout/dropout.h"

namespace robusta {
namespace {

/// shift + scale * x, without what does nothing.
std::string line_of(LayerEmission& layer, std::string x, float scale, float shift) {
  if (scale != 1) x = layer.node("Mul", {x, layer.number(scale)});
  if (shift != 0) x = layer.node("Add", {x, layer.number(shift)});
  return x;
}

double natural_log_of_base(float base) { return base == -1 ? 1 : std::log(static_cast<double>(base)); }

void emit_relu(LayerEmission& layer) {
  const float slope = layer.param().relu_param().negative_slope();
  if (slope == 0) return layer.top(0, "Relu", {layer.bottom(0)});
  layer.top(0, "LeakyRelu", {layer.bottom(0)}, {{"alpha", slope}});
}

void emit_relu6(LayerEmission& layer) { layer.top(0, "Clip", {layer.bottom(0), layer.number(0), layer.number(6)}); }

/// A slope is repeated along the axes in front of it by itself; those behind it are written.
void emit_prelu(LayerEmission& layer) {
  const int64_t slopes = layer.param_shape(0).count();
  std::vector<int64_t> shape{slopes};
  if (layer.param_shape(0).axes() > 0) shape.resize(static_cast<size_t>(layer.axes() - 1), 1);
  layer.top(0, "PRelu", {layer.bottom(0), layer.weights(0, Shape(shape))});
}

void emit_elu(LayerEmission& layer) {
  const auto& p = layer.param().elu_param();
  if (p.lambda() == 1) return layer.top(0, "Elu", {layer.bottom(0)}, {{"alpha", p.alpha()}});
  layer.top(0, "Selu", {layer.bottom(0)}, {{"alpha", p.alpha()}, {"gamma", p.lambda()}});
}

void emit_sigmoid(LayerEmission& layer) { layer.top(0, "Sigmoid", {layer.bottom(0)}); }
void emit_tanh(LayerEmission& layer) { layer.top(0, "Tanh", {layer.bottom(0)}); }
void emit_abs(LayerEmission& layer) { layer.top(0, "Abs", {layer.bottom(0)}); }
void emit_bnll(LayerEmission& layer) { layer.top(0, "Softplus", {layer.bottom(0)}); }

void emit_exp(LayerEmission& layer) {
  const auto& p = layer.param().exp_param();
  const double log_base = natural_log_of_base(p.base());
  layer.top(0, "Exp",
            {line_of(layer, layer.bottom(0), static_cast<float>(log_base * p.scale()),
                     static_cast<float>(log_base * p.shift()))});
}

void emit_log(LayerEmission& layer) {
  const auto& p = layer.param().log_param();
  const std::string line = line_of(layer, layer.bottom(0), p.scale(), p.shift());
  const auto of_base = static_cast<float>(1 / natural_log_of_base(p.base()));
  if (of_base == 1) return layer.top(0, "Log", {line});
  layer.top(0, "Mul", {layer.node("Log", {line}), layer.number(of_base)});
}

/// A constant does not look at x, which may be infinite.
void emit_constant(LayerEmission& layer, float value) {
  const std::string shape = layer.node("Shape", {layer.bottom(0)});
  layer.top(0, "Expand", {layer.number(value), shape});
}

void emit_power(LayerEmission& layer) {
  const auto& p = layer.param().power_param();
  if (p.power() == 0 || p.scale() == 0) {
    return emit_constant(layer, static_cast<float>(std::pow(static_cast<double>(p.shift()), double{p.power()})));
  }
  const std::string line = line_of(layer, layer.bottom(0), p.scale(), p.shift());
  if (p.power() == 1) return layer.top_is(0, line);
  if (p.power() == 2) return layer.top(0, "Mul", {line, line});
  layer.top(0, "Pow", {line, layer.number(p.power())});
}

void emit_clip(LayerEmission& layer) {
  const auto& p = layer.param().clip_param();
  layer.top(0, "Clip", {layer.bottom(0), layer.number(p.min()), layer.number(p.max())});
}

void emit_swish(LayerEmission& layer) {
  const std::string scaled = line_of(layer, layer.bottom(0), layer.param().swish_param().beta(), 0);
  layer.top(0, "Mul", {layer.bottom(0), layer.node("Sigmoid", {scaled})});
}

void emit_hard_swish(LayerEmission& layer) {
  const std::string gate = layer.node("HardSigmoid", {layer.bottom(0)}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  layer.top(0, "Mul", {layer.bottom(0), gate});
}

void emit_threshold(LayerEmission& layer) {
  const std::string above =
      layer.node("Greater", {layer.bottom(0), layer.number(layer.param().threshold_param().threshold())});
  layer.top(0, "Cast", {above}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
}

void emit_dropout(LayerEmission& layer) {
  const auto& dropout = layer.as<DropoutLayer>();
  if (dropout.drops()) layer.refuse("it drops when testing, too, and ONNX has no such draws", "dropout_param");
  if (layer.param().dropout_param().scale_train()) return layer.top(0, "Identity", {layer.bottom(0)});
  layer.top(0, "Mul", {layer.bottom(0), layer.number(1 - dropout.ratio())});
}

void emit_spatial_dropout(LayerEmission& layer) {
  if (layer.layer().training()) layer.refuse("it drops, as phase: TRAIN says, and ONNX has no such draws", "phase");
  layer.top(0, "Identity", {layer.bottom(0)});
}

[[maybe_unused]] const bool registered_elementwise[] = {
    register_onnx_emitter("ReLU", emit_relu),
    register_onnx_emitter("ReLU6", emit_relu6),
    register_onnx_emitter("PReLU", emit_prelu),
    register_onnx_emitter("ELU", emit_elu),
    register_onnx_emitter("Sigmoid", emit_sigmoid),
    register_onnx_emitter("TanH", emit_tanh),
    register_onnx_emitter("AbsVal", emit_abs),
    register_onnx_emitter("BNLL", emit_bnll),
    register_onnx_emitter("Exp", emit_exp),
    register_onnx_emitter("Log", emit_log),
    register_onnx_emitter("Power", emit_power),
    register_onnx_emitter("Clip", emit_clip),
    register_onnx_emitter("Swish", emit_swish),
    register_onnx_emitter("HardSwish", emit_hard_swish),
    register_onnx_emitter("Threshold", emit_threshold),
    register_onnx_emitter("Dropout", emit_dropout),
    register_onnx_emitter("SpatialDropout", emit_spatial_dropout),
};

}  // namespace
}  // namespace robusta
