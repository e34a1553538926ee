// Operators that normalise by the mean and the variance of what they are given: InstanceNormalization and
// LayerNormalization.
//
// BatchNorm with the statistics of its batch is the layer of Caffe that has epsilon where ONNX has it, below the root
// (MVN adds it to the root): what is normalised together becomes one channel of a batch of one.

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

/// The blob, the `rows` equal parts of which have become parts of mean 0 and variance 1.
std::string normalised_rows(ImportNode& node, int64_t rows) {
  const Shape from = node.shape(0);
  node.count_folded(Shape{rows});
  const std::string apart = node.reshape(node.blob(0), Shape{1, rows, from.count() / rows});
  const std::string normalised = node.layer("BatchNorm", {apart}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_batch_norm_param();
    p.set_use_global_stats(false);
    p.set_eps(static_cast<float>(node.number("epsilon", 1e-5)));
    const auto count = static_cast<size_t>(rows);
    add_array(param, Shape{rows}, std::vector<float>(count, 0));
    add_array(param, Shape{rows}, std::vector<float>(count, 1));
    add_array(param, Shape{1}, {1});
  });
  return node.reshape(normalised, from);
}

/// Numbers of an input for each element of `shape`.
std::vector<float> numbers_for(ImportNode& node, int input, const Shape& shape) {
  Shape both;
  const OnnxConstant given = node.constant(input);
  if (!broadcast_shape(given.shape, shape, both) || !(both == shape))
    node.contradict(str("input ", input, " has shape ", given.shape.str(), ", not ", shape.str()));
  return as_floats(broadcast_constant(given, shape));
}

/// Times input 1, plus input 2 where there is one; both lie along the axes begin..end-1.
std::string scaled_along(ImportNode& node, const std::string& blob, int begin, int end) {
  const Shape own = node.blob_shape(blob).slice(begin, end);
  return node.layer("Scale", {blob}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_scale_param();
    p.set_axis(begin);
    p.set_num_axes(end - begin);
    p.set_bias_term(node.has(2));
    add_array(param, own, numbers_for(node, 1, own));
    if (node.has(2)) add_array(param, own, numbers_for(node, 2, own));
  });
}

void emit_instance_norm(ImportNode& node) {
  const Shape& from = node.shape(0);
  if (from.axes() < 3) node.contradict(str("its input has shape ", from.str()));
  node.output(scaled_along(node, normalised_rows(node, from.count(0, 2)), 1, 2));
}

void emit_layer_norm(ImportNode& node) {
  const Shape& from = node.shape(0);
  for (const int output : {1, 2}) {
    if (node.is_read(output))
      node.refuse("outputs Mean and InvStdDev", "a net of Caffe has no such blobs", "export without them");
  }
  const int axis = node.axis_of(node.integer("axis", -1), from.axes());
  node.output(scaled_along(node, normalised_rows(node, from.count(0, axis)), axis, from.axes()));
}

[[maybe_unused]] const bool registered_norm_operators =
    register_onnx_operator("InstanceNormalization", emit_instance_norm) &&
    register_onnx_operator("LayerNormalization", emit_layer_norm);

}  // namespace
}  // namespace robusta
