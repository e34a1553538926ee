/// A node of a model as its emitter sees it: attributes, inputs, and ways to say what it makes.
///
/// An emitter belongs to an operator's name and registers itself:
///
///     void emit_sigmoid(ImportNode& node) { node.output(node.layer("Sigmoid", {node.blob(0)})); }
///     const bool registered = register_onnx_operator("Sigmoid", emit_sigmoid);
///
/// What cannot be said in Caffe is refused: `node.refuse("attribute mode", "it is \"cubic\"", "resize linearly")`.
#pragma once

#include <string>
#include <vector>

#include "exchange/onnx/import/graph.h"
#include "robusta/error.h"

namespace robusta {

class ImportNode {
 public:
  ImportNode(OnnxGraph& graph, const onnx::NodeProto& proto, int64_t opset)
      : graph_(graph), proto_(proto), opset_(opset) {}

  const onnx::NodeProto& proto() const { return proto_; }
  const std::string& type() const { return proto_.op_type(); }
  int64_t opset() const { return opset_; }
  OnnxGraph& graph() { return graph_; }

  const onnx::AttributeProto* attribute(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t standard) const;
  double number(const std::string& name, double standard) const;
  std::string text(const std::string& name, const std::string& standard) const;
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& standard = {}) const;
  /// The attribute, or where newer versions have made it an input that input: integers known here.
  std::vector<int64_t> integers_or_input(const std::string& name, int input) const;

  bool has(int input) const;
  const Shape& shape(int input) const;
  bool is_constant(int input) const;
  /// Refuses an input that depends on the model's inputs.
  OnnxConstant constant(int input) const;
  std::vector<int64_t> whole_numbers(int input) const;
  std::vector<float> floats(int input) const;
  /// The input as a blob; a constant becomes a layer of type Parameter.
  std::string blob(int input);
  const Shape& blob_shape(const std::string& blob) const { return graph_.blobs.at(blob); }
  /// Whether the node has this output, and a node reads it or it is one of the model's.
  bool is_read(int output) const;
  /// The one node that makes the input where nothing else reads it; else null.
  const onnx::NodeProto* sole_maker(int input) const;
  /// An axis of a shape of so many axes, counted from the front.
  int axis_of(int64_t axis, int axes) const;

  /// A layer with one top, named as the node's output; its top.
  std::string layer(const std::string& type, const std::vector<std::string>& bottoms) {
    return layer(type, bottoms, [](caffe::LayerParameter&) {});
  }
  template <typename Fill>
  std::string layer(const std::string& type, const std::vector<std::string>& bottoms, const Fill& fill) {
    caffe::LayerParameter param = new_layer(type, bottoms);
    fill(param);
    return append(param);
  }
  caffe::LayerParameter new_layer(const std::string& type, const std::vector<std::string>& bottoms);
  std::string append(const caffe::LayerParameter& param);

  std::string power(const std::string& bottom, double power, double scale, double shift);
  /// The blob with another shape of as many elements; the blob itself where it has that shape.
  std::string reshape(const std::string& bottom, const Shape& shape);
  std::string permute(const std::string& bottom, const std::vector<int>& order);
  /// Repeated along axes of extent 1, and along axes that it lacks in front.
  std::string broadcast(const std::string& bottom, const Shape& shape);
  /// The entries begin..end-1 of an axis.
  std::string slice(const std::string& bottom, int axis, int64_t begin, int64_t end);

  void output(const std::string& blob, int index = 0);
  void output(OnnxConstant constant, int index = 0);
  void output_tensor(const onnx::TensorProto& tensor);
  /// The output is the input itself.
  void pass_on(int input);

  void warn(const std::string& text);
  [[noreturn]] void refuse(const std::string& what, const std::string& cause, const std::string& fix) const;
  /// The model contradicts itself.
  [[noreturn]] void contradict(const std::string& cause) const;
  /// Throws unless so many more numbers may be computed.
  void count_folded(const Shape& shape) const;

 private:
  const OnnxValue& value(int input) const;
  OnnxValue& made(int index);

  OnnxGraph& graph_;
  const onnx::NodeProto& proto_;
  int64_t opset_;
};

using OnnxOperator = void (*)(ImportNode&);

/// True, for initialising a static.
bool register_onnx_operator(const std::string& type, OnnxOperator emitter);
/// Null where there is none.
OnnxOperator find_onnx_operator(const std::string& type);
std::vector<std::string> onnx_operators();

void add_array(caffe::LayerParameter& layer, const Shape& shape, const std::vector<float>& values);
std::vector<float> as_floats(const OnnxConstant& constant);

/// The shape of two that are repeated where they differ (ONNX, "Multidirectional broadcasting"); an empty optional
/// where they do not fit.
bool broadcast_shape(const Shape& a, const Shape& b, Shape& both);
OnnxConstant broadcast_constant(const OnnxConstant& from, const Shape& to);

/// What a Slice takes of one axis.
struct SliceRange {
  int64_t begin = 0, step = 1, count = 0;
};
std::vector<SliceRange> slice_ranges(const ImportNode& node, const Shape& shape);
/// The shape that Reshape, Squeeze, Unsqueeze and Flatten give to a value of this one.
Shape reshaped_shape(const ImportNode& node, const Shape& from);
/// Which axis of the input each axis of a Transpose is.
std::vector<int> transpose_order(const ImportNode& node, int axes);

/// Outputs of nodes all of whose inputs are constants; false: the operator is not one of those that are computed.
bool fold_node(ImportNode& node);

}  // namespace robusta
