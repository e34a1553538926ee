// Arithmetic of two values, where either may be repeated and either may be known; and functions of single elements.
//
// A known number is a Power; known numbers along neighbouring axes a Scale or Bias with an array; two blobs of one
// shape an Eltwise; a blob that is repeated along the outer axes of another a Scale or Bias with two bottoms. These are
// BVLC's types. What is left is repeated by Tile first.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

/// The axes begin..end-1 of `big` along which `small` is not repeated, where both are matched from the last axis on.
struct OwnAxes {
  int begin = 0, end = 0;
  bool covers = true;  ///< small has the extents of big all along
};

OwnAxes own_axes(const Shape& small, const Shape& big) {
  OwnAxes span;
  const int missing = big.axes() - small.axes();
  for (int axis = 0; axis < small.axes(); ++axis) {
    if (small[axis] == 1) continue;
    if (span.end == 0) span.begin = axis + missing;
    span.end = axis + missing + 1;
  }
  for (int axis = span.begin; axis < span.end; ++axis) span.covers = span.covers && small[axis - missing] == big[axis];
  return span;
}

/// At most so many axes: those in front have one entry.
OnnxConstant without_ones(OnnxConstant c, size_t axes) {
  std::vector<int64_t> dims = c.shape.dims();
  if (dims.size() > axes) dims.erase(dims.begin(), dims.end() - static_cast<int64_t>(axes));
  c.shape = Shape(dims);
  return c;
}

/// blob + c or blob x c for known c, of the blob's shape.
std::string with_array(ImportNode& node, const std::string& blob, const OnnxConstant& c, bool product) {
  const Shape big = node.blob_shape(blob);
  if (c.values.size() == 1) return product ? node.power(blob, 1, c.values[0], 0) : node.power(blob, 1, 1, c.values[0]);
  const OwnAxes span = own_axes(c.shape, big);
  const Shape own = big.slice(span.begin, span.end);
  std::vector<int64_t> dims(own.dims());
  dims.insert(dims.end(), static_cast<size_t>(big.axes() - span.end), 1);  // matched from the last axis on
  const std::vector<float> values = as_floats(broadcast_constant(without_ones(c, dims.size()), Shape(dims)));
  return node.layer(product ? "Scale" : "Bias", {blob}, [&](caffe::LayerParameter& param) {
    if (product) {
      param.mutable_scale_param()->set_axis(span.begin);
      param.mutable_scale_param()->set_num_axes(own.axes());
    } else {
      param.mutable_bias_param()->set_axis(span.begin);
      param.mutable_bias_param()->set_num_axes(own.axes());
    }
    add_array(param, own, values);
  });
}

std::string of_two_blobs(ImportNode& node, const std::string& a, const std::string& b, bool product,
                         double coefficient) {
  return node.layer("Eltwise", {a, b}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_eltwise_param();
    p.set_operation(product ? caffe::EltwiseParameter::PROD : caffe::EltwiseParameter::SUM);
    if (product || coefficient == 1) return;
    p.add_coeff(1);
    p.add_coeff(static_cast<float>(coefficient));
  });
}

/// a + coefficient b, or a x b.
std::string combined(ImportNode& node, const std::string& a, const std::string& b, bool product, double coefficient) {
  const Shape of_a = node.blob_shape(a), of_b = node.blob_shape(b);
  if (of_a == of_b) return of_two_blobs(node, a, b, product, coefficient);
  Shape both;
  if (!broadcast_shape(of_a, of_b, both))
    node.contradict(str("shapes ", of_a.str(), " and ", of_b.str(), " do not fit"));
  if (of_b == both && !(of_a == both) && (product || coefficient == 1))
    return combined(node, b, a, product, coefficient);
  if (of_a == both) {
    OwnAxes span = own_axes(of_b, both);
    // From the batch on, where that is not repeated: another batch then needs no other net.
    if (span.covers && of_b.axes() == both.axes() && span.begin == 1 && of_b[0] == both[0]) span.begin = 0;
    if (span.covers) {
      const std::string small =
          node.reshape(node.power(b, 1, product ? 1 : coefficient, 0), both.slice(span.begin, span.end));
      return node.layer(product ? "Scale" : "Bias", {a, small}, [&](caffe::LayerParameter& param) {
        product ? param.mutable_scale_param()->set_axis(span.begin) : param.mutable_bias_param()->set_axis(span.begin);
      });
    }
  }
  return of_two_blobs(node, node.broadcast(a, both), node.broadcast(b, both), product, coefficient);
}

OnnxConstant each_changed(OnnxConstant constant, double (*function)(double)) {
  for (double& value : constant.values) value = function(value);
  return constant;
}

double negative(double x) { return -x; }
double inverse(double x) { return 1 / x; }

/// The blob repeated to the shape that it has together with the constant.
std::string room_for(ImportNode& node, const std::string& blob, const OnnxConstant& c) {
  Shape both;
  if (!broadcast_shape(node.blob_shape(blob), c.shape, both))
    node.contradict(str("shapes ", node.blob_shape(blob).str(), " and ", c.shape.str(), " do not fit together"));
  return node.broadcast(blob, both);
}

/// x + c behind a layer without a bias, which then takes c as its own.
bool joins_bias(ImportNode& node, int blob_input, const OnnxConstant& c) {
  if (!node.sole_maker(blob_input)) return false;
  const std::string blob = node.blob(blob_input);
  auto& layer = *node.graph().imported.net.mutable_layer(node.graph().imported.net.layer_size() - 1);
  if (layer.top_size() != 1 || layer.top(0) != blob || layer.blobs_size() != 1) return false;
  const bool inner = layer.type() == "InnerProduct" && !layer.inner_product_param().bias_term();
  const bool convolution = layer.type() == "Convolution" && !layer.convolution_param().bias_term();
  if (!inner && !convolution) return false;
  const Shape& shape = node.blob_shape(blob);
  const int axis = inner ? shape.axes() - 1 : 1;
  const OwnAxes span = own_axes(c.shape, shape);
  const bool each_output = span.begin == axis && span.end == axis + 1 && c.shape.count() == shape[axis];
  if (!each_output || c.shape.axes() > shape.axes()) return false;
  inner ? layer.mutable_inner_product_param()->clear_bias_term() : layer.mutable_convolution_param()->clear_bias_term();
  add_array(layer, Shape{c.shape.count()}, as_floats(c));
  node.output(blob);
  return true;
}

void with_constant(ImportNode& node, int blob_input, const OnnxConstant& c) {
  const std::string& type = node.type();
  const bool first = blob_input == 0;
  if (type == "Add" && joins_bias(node, blob_input, c)) return;
  std::string blob = room_for(node, node.blob(blob_input), c);
  if (type == "Add") return node.output(with_array(node, blob, c, false));
  if (type == "Mul") return node.output(with_array(node, blob, c, true));
  if (type == "Sub" && first) return node.output(with_array(node, blob, each_changed(c, negative), false));
  if (type == "Sub" && c.values.size() == 1) return node.output(node.power(blob, 1, -1, c.values[0]));
  if (type == "Sub") return node.output(with_array(node, node.power(blob, 1, -1, 0), c, false));
  if (first) return node.output(with_array(node, blob, each_changed(c, inverse), true));
  node.output(with_array(node, node.power(blob, -1, 1, 0), c, true));
}

/// x sigmoid(x) is a Swish; the Sigmoid goes if nobody else reads it.
std::optional<std::string> swish(ImportNode& node) {
  for (const int gate : {0, 1}) {
    const auto& makers = node.graph().makers;
    const auto maker = makers.find(node.proto().input(gate));
    if (maker == makers.end() || maker->second->op_type() != "Sigmoid" || maker->second->input_size() != 1) continue;
    if (maker->second->input(0) == node.proto().input(1 - gate)) return node.layer("Swish", {node.blob(1 - gate)});
  }
  return std::nullopt;
}

void emit_arithmetic(ImportNode& node) {
  if (node.proto().input_size() != 2) node.contradict("it has not two inputs");
  for (const int input : {0, 1}) {
    if (node.is_constant(input)) {
      const OnnxConstant c = node.constant(input);
      if (c.values.empty()) node.contradict("an input holds nothing");
      return with_constant(node, 1 - input, c);
    }
  }
  const std::string &type = node.type(), a = node.blob(0), b = node.blob(1);
  if (type == "Mul") {
    if (const auto made = swish(node)) return node.output(*made);
  }
  if (type == "Add") return node.output(combined(node, a, b, false, 1));
  if (type == "Sub") return node.output(combined(node, a, b, false, -1));
  node.output(combined(node, a, type == "Div" ? node.power(b, -1, 1, 0) : b, true, 1));
}

void emit_sum(ImportNode& node) {
  std::string sum = node.blob(0);
  for (int input = 1; input < node.proto().input_size(); ++input) sum = combined(node, sum, node.blob(input), false, 1);
  node.output(sum);
}

void emit_max(ImportNode& node) {
  std::string most = node.blob(0);
  for (int input = 1; input < node.proto().input_size(); ++input) {
    const std::string next = node.blob(input);
    Shape both;
    if (!broadcast_shape(node.blob_shape(most), node.blob_shape(next), both)) node.contradict("its shapes do not fit");
    most = node.layer(
        "Eltwise", {node.broadcast(most, both), node.broadcast(next, both)},
        [](caffe::LayerParameter& p) { p.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::MAX); });
  }
  node.output(most);
}

void emit_pow(ImportNode& node) {
  const OnnxConstant exponent = node.constant(1);
  if (exponent.values.size() != 1) node.refuse("input 1", "it holds several exponents", "raise to one power");
  node.output(node.power(node.blob(0), exponent.values[0], 1, 0));
}

void emit_function(ImportNode& node) {
  static const std::map<std::string, const char*> types = {
      {"Relu", "ReLU"}, {"Sigmoid", "Sigmoid"}, {"Tanh", "TanH"},    {"Exp", "Exp"},
      {"Log", "Log"},   {"Abs", "AbsVal"},      {"Softplus", "BNLL"}};
  node.output(node.layer(types.at(node.type()), {node.blob(0)}));
}

void emit_power(ImportNode& node) {
  const std::string& type = node.type();
  const double power = type == "Sqrt" ? 0.5 : type == "Reciprocal" ? -1 : 1;
  node.output(node.power(node.blob(0), power, type == "Neg" ? -1 : 1, 0));
}

std::string clip(ImportNode& node, const std::string& blob, double least, double most) {
  if (least == 0 && most == 6) return node.layer("ReLU6", {blob});
  if (least == 0 && most >= FLT_MAX) return node.layer("ReLU", {blob});
  return node.layer("Clip", {blob}, [&](caffe::LayerParameter& param) {
    param.mutable_clip_param()->set_min(static_cast<float>(least));
    param.mutable_clip_param()->set_max(static_cast<float>(most));
  });
}

void emit_clip(ImportNode& node) {
  double limits[] = {node.number("min", -FLT_MAX), node.number("max", FLT_MAX)};
  for (const int input : {1, 2}) {
    if (!node.has(input)) continue;
    const OnnxConstant given = node.constant(input);
    if (given.values.size() != 1) node.contradict(str("input ", input, " is not one number"));
    limits[input - 1] = std::clamp(given.values[0], double{-FLT_MAX}, double{FLT_MAX});
  }
  node.output(clip(node, node.blob(0), limits[0], limits[1]));
}

std::string hard_sigmoid(ImportNode& node, double alpha, double beta) {
  return clip(node, node.power(node.blob(0), 1, alpha, beta), 0, 1);
}

void emit_hard_sigmoid(ImportNode& node) {
  node.output(hard_sigmoid(node, node.number("alpha", 0.2), node.number("beta", 0.5)));
}

/// x hard_sigmoid(x) in BVLC's types: a layer of the name is known to a single fork.
void emit_hard_swish(ImportNode& node) {
  const std::string gate = hard_sigmoid(node, 1.0 / 6, 0.5);
  node.output(of_two_blobs(node, node.blob(0), gate, true, 1));
}

void emit_leaky_relu(ImportNode& node) {
  node.output(node.layer("ReLU", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    param.mutable_relu_param()->set_negative_slope(static_cast<float>(node.number("alpha", 0.01)));
  }));
}

void emit_elu(ImportNode& node) {
  node.output(node.layer("ELU", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    param.mutable_elu_param()->set_alpha(static_cast<float>(node.number("alpha", 1)));
  }));
}

void emit_prelu(ImportNode& node) {
  const std::vector<float> slopes = node.floats(1);
  const Shape& x = node.shape(0);
  const bool shared = slopes.size() == 1;
  const OwnAxes span = own_axes(node.shape(1), x);
  const bool by_channel = span.begin == 1 && span.end == 2 && x.axes() >= 2 && node.shape(1).count() == x[1];
  if (!shared && !by_channel)
    node.refuse("input slope", str("it has shape ", node.shape(1).str()), "one slope for all, or one for each channel");
  node.output(node.layer("PReLU", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    if (shared) param.mutable_prelu_param()->set_channel_shared(true);
    add_array(param, shared ? Shape{} : Shape{x[1]}, slopes);
  }));
}

void emit_softmax(ImportNode& node) {
  const Shape from = node.shape(0);
  const bool rows = node.opset() < 13;  // then all axes from this one on were one
  const int axis = node.axis_of(node.integer("axis", rows ? 1 : -1), from.axes());
  const bool flattens = rows && from.count(axis + 1) != 1;
  std::string x = flattens ? node.reshape(node.blob(0), Shape{from.count(0, axis), from.count(axis)}) : node.blob(0);
  x = node.layer("Softmax", {x},
                 [&](caffe::LayerParameter& param) { param.mutable_softmax_param()->set_axis(flattens ? 1 : axis); });
  if (node.type() == "LogSoftmax") x = node.layer("Log", {x});
  node.output(node.reshape(x, from));
}

[[maybe_unused]] const bool registered_arithmetic_operators =
    register_onnx_operator("Add", emit_arithmetic) && register_onnx_operator("Sub", emit_arithmetic) &&
    register_onnx_operator("Mul", emit_arithmetic) && register_onnx_operator("Div", emit_arithmetic) &&
    register_onnx_operator("Sum", emit_sum) && register_onnx_operator("Max", emit_max) &&
    register_onnx_operator("Pow", emit_pow) && register_onnx_operator("Relu", emit_function) &&
    register_onnx_operator("Sigmoid", emit_function) && register_onnx_operator("Tanh", emit_function) &&
    register_onnx_operator("Exp", emit_function) && register_onnx_operator("Log", emit_function) &&
    register_onnx_operator("Abs", emit_function) && register_onnx_operator("Softplus", emit_function) &&
    register_onnx_operator("Sqrt", emit_power) && register_onnx_operator("Neg", emit_power) &&
    register_onnx_operator("Reciprocal", emit_power) && register_onnx_operator("Clip", emit_clip) &&
    register_onnx_operator("HardSigmoid", emit_hard_sigmoid) && register_onnx_operator("HardSwish", emit_hard_swish) &&
    register_onnx_operator("LeakyRelu", emit_leaky_relu) && register_onnx_operator("Elu", emit_elu) &&
    register_onnx_operator("PRelu", emit_prelu) && register_onnx_operator("Softmax", emit_softmax) &&
    register_onnx_operator("LogSoftmax", emit_softmax);

}  // namespace
}  // namespace robusta
