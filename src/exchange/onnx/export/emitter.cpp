// The register is a map that is made at its first use: emitters register themselves before main.

#include "exchange/onnx/export/emitter.h"

#include <bit>
#include <map>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::map<std::string, OnnxEmitter>& emitters_by_type() {
  static std::map<std::string, OnnxEmitter> emitters;
  return emitters;
}

std::map<std::string, int>& varying_axes() {
  static std::map<std::string, int> axes;
  return axes;
}

std::string joined_integers(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += str(text.empty() ? "" : "_", value);
  return text;
}

}  // namespace

bool register_onnx_emitter(const std::string& type, OnnxEmitter emitter) {
  return emitters_by_type().emplace(type, emitter).second;
}

bool register_varying_onnx_emitter(const std::string& type, OnnxEmitter emitter, int axis) {
  return varying_axes().emplace(type, axis).second && register_onnx_emitter(type, emitter);
}

int varying_axis_in_onnx(const std::string& type) {
  const auto found = varying_axes().find(type);
  return found == varying_axes().end() ? -1 : found->second;
}

OnnxEmitter find_onnx_emitter(const std::string& type) {
  const auto found = emitters_by_type().find(type);
  return found == emitters_by_type().end() ? nullptr : found->second;
}

std::vector<std::string> onnx_emitter_types() {
  std::vector<std::string> types;
  for (const auto& [type, emitter] : emitters_by_type()) types.push_back(type);
  return types;
}

std::vector<float> LayerEmission::param_values(int i) const {
  return context_.net.blobs().read_param(*node_.params[static_cast<size_t>(i)]);
}

// Keys of arrays hold line breaks, which no name of a layer has, so that two kinds of them are never one.

std::string LayerEmission::weights(int i, const Shape& shape) {
  const Param& param = *node_.params[static_cast<size_t>(i)];  // layers may share it
  return context_.graph.floats(str("parameter\n", param.layer, "\n", param.index, "\n", joined_integers(shape.dims())),
                               str(param.layer, ".", param.index), shape, [&] { return param_values(i); });
}

std::vector<float> LayerEmission::constant_top(int i) const {
  const std::string& blob = param().top(i);
  for (const BlobVersion& version : context_.net.graph().versions) {
    if (version.name == blob && version.hidden_by_later)
      refuse("a layer works in place on the constants that it makes");
  }
  return context_.constant_blob(blob);
}

std::string LayerEmission::number(float value) {
  return context_.graph.floats(str("number\n", std::bit_cast<uint32_t>(value)), str("number ", value), {},
                               [value] { return std::vector<float>{value}; });
}

std::string LayerEmission::floats(const std::string& what, const Shape& shape, const std::vector<float>& values) {
  return context_.graph.floats(str("layer\n", node_.layer->name(), "\n", what), str(node_.layer->name(), ".", what),
                               shape, [&] { return values; });
}

std::string LayerEmission::integers(const std::vector<int64_t>& values) {
  constexpr size_t kMostInName = 8;
  const std::string text = joined_integers(values);
  return context_.graph.integers("integers\n" + text, values.size() > kMostInName ? "integers" : "integers " + text,
                                 {static_cast<int64_t>(values.size())}, values);
}

std::string LayerEmission::integer(int64_t value) {
  return context_.graph.integers(str("integer\n", value), str("integer ", value), {}, {value});
}

std::string LayerEmission::fresh(const std::string& what) {
  return context_.graph.unique(str(node_.layer->name(), "/", what));
}

std::string LayerEmission::node(const std::string& op, const std::vector<std::string>& inputs,
                                const OnnxAttributes& attributes) {
  const std::string output = fresh(op);
  node_to(op, inputs, {output}, attributes);
  return last_made_ = output;
}

void LayerEmission::top_is(int i, const std::string& value) {
  auto& nodes = *context_.graph.proto().mutable_node();
  if (value != last_made_ || nodes.rbegin()->output(0) != value) return top(i, "Identity", {value});
  nodes.rbegin()->set_output(0, top_name(i));
}

void LayerEmission::node_to(const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const OnnxAttributes& attributes) {
  context_.graph.add_node(op, str(node_.layer->name(), " ", op, " ", context_.graph.proto().node_size()), inputs,
                          outputs, attributes);
}

std::string LayerEmission::shape_array(const Dims& dims) {
  std::vector<int64_t> extents;
  int unknown = 0;
  for (const Dim& dim : dims) {
    extents.push_back(dim.batch_power > 0 ? -1 : dim.value);
    unknown += dim.batch_power;
  }
  if (unknown > 1) refuse("more than one extent of its shape follows the batch, which ONNX cannot infer");
  return integers(extents);
}

std::string LayerEmission::reshape(const std::string& x, const Dims& dims) {
  return node("Reshape", {x, shape_array(dims)});
}

void LayerEmission::reshape_to_top(int i, const std::string& x) {
  node_to("Reshape", {x, shape_array(top_dims(i))}, {top_name(i)});
}

std::string LayerEmission::with_axes_behind(const std::string& x, int axes, int count) {
  if (count == 0) return x;
  std::vector<int64_t> added;
  for (int i = 0; i < count; ++i) added.push_back(axes + i);
  return node("Unsqueeze", {x, integers(added)});
}

void LayerEmission::refuse(const std::string& cause, const std::string& field) const {
  throw Error(ErrorKind::kUnsupported, cause).in_field(field);
}

int64_t LayerEmission::require_fixed(const Dim& dim, const std::string& what) const {
  if (dim.batch_power > 0) refuse(what + " follows the batch: export it for a batch that is known");
  return dim.value;
}

}  // namespace robusta
