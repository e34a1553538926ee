/// How layers are said in ONNX: for each type a function that writes the operators which compute the same.
///
/// An emitter is asked for one layer in its place, in TEST, and registers itself:
///
///     void emit_sigmoid(LayerEmission& layer) { layer.top(0, "Sigmoid", {layer.bottom(0)}); }
///     const bool registered = register_onnx_emitter("Sigmoid", emit_sigmoid);
///
/// What it writes computes exactly what the layer does, but for rounding, for every value of its bottoms; what cannot
/// be said so is refused, and the caller names all that is refused at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exchange/onnx/export/graph_writer.h"
#include "net/net.h"

namespace robusta {

/// One layer while it is written.
class LayerEmission {
 public:
  struct Context {
    Net& net;
    OnnxGraphWriter& graph;
    const IdVector<VersionId, std::string>& names;  ///< of the values
    const IdVector<VersionId, Dims>& dims;
    /// Runs the net once, whatever its inputs hold, so that the tops of layers which do not look at them can be read.
    std::function<std::vector<float>(const std::string& blob)> constant_blob;
  };
  LayerEmission(const Context& context, const Node& node) : context_(context), node_(node) {}

  const caffe::LayerParameter& param() const { return node_.layer->param(); }
  const Layer& layer() const { return *node_.layer; }
  /// The layer as the class that it is.
  template <typename L>
  const L& as() const {
    return dynamic_cast<const L&>(*node_.layer);
  }

  int bottoms() const { return static_cast<int>(node_.bottoms.size()); }
  int tops() const { return static_cast<int>(node_.tops.size()); }
  const std::string& bottom(int i) const { return context_.names[node_.bottoms[static_cast<size_t>(i)]]; }
  const std::string& top_name(int i) const { return context_.names[node_.tops[static_cast<size_t>(i)]]; }
  const Dims& bottom_dims(int i) const { return context_.dims[node_.bottoms[static_cast<size_t>(i)]]; }
  const Dims& top_dims(int i) const { return context_.dims[node_.tops[static_cast<size_t>(i)]]; }
  Shape bottom_shape(int i) const { return shape_of(bottom_dims(i)); }
  Shape top_shape(int i) const { return shape_of(top_dims(i)); }
  int axes(int bottom = 0) const { return static_cast<int>(bottom_dims(bottom).size()); }

  int params() const { return static_cast<int>(node_.params.size()); }
  std::vector<float> param_values(int i) const;
  const Shape& param_shape(int i) const { return node_.params[static_cast<size_t>(i)]->desc.shape; }
  /// Parameter i as an array of the graph, in its own shape or in another of as many elements.
  std::string weights(int i) { return weights(i, param_shape(i)); }
  std::string weights(int i, const Shape& shape);

  /// Arrays of the graph. A number is shared by all layers, an array is this layer's.
  std::string number(float value);
  std::string floats(const std::string& what, const Shape& shape, const std::vector<float>& values);
  std::string integers(const std::vector<int64_t>& values);
  std::string integer(int64_t value);  ///< a scalar

  /// A node with one output, whose name is returned.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const OnnxAttributes& attributes = {});
  /// One whose outputs are given; "" leaves one out.
  void node_to(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const OnnxAttributes& attributes = {});
  /// A name for an output of node_to.
  std::string fresh(const std::string& what);
  /// The node that makes top i.
  void top(int i, const std::string& op, const std::vector<std::string>& inputs,
           const OnnxAttributes& attributes = {}) {
    node_to(op, inputs, {top_name(i)}, attributes);
  }

  /// Top i is this value: the node that has just made it gets the top's name, where there is one.
  void top_is(int i, const std::string& value);

  /// x in another shape of as many elements. Where more than one extent follows the batch it is refused.
  std::string reshape(const std::string& x, const Dims& dims);
  void reshape_to_top(int i, const std::string& x);
  /// x with `count` axes of extent 1 behind its own `axes`.
  std::string with_axes_behind(const std::string& x, int axes, int count);

  /// What the layer's own kernel makes of top i, whatever the net's inputs hold.
  std::vector<float> constant_top(int i) const;

  /// Throws Error{kUnsupported}: the layer, or a setting of it, is not said in ONNX.
  [[noreturn]] void refuse(const std::string& cause, const std::string& field = "") const;
  /// Refuses extents that follow the batch.
  int64_t require_fixed(const Dim& dim, const std::string& what) const;

 private:
  std::string shape_array(const Dims& dims);

  const Context& context_;
  const Node& node_;
  std::string last_made_;  ///< by node()
};

using OnnxEmitter = void (*)(LayerEmission& layer);

/// True, for initialising a static.
bool register_onnx_emitter(const std::string& type, OnnxEmitter emitter);
/// The same for a type whose tops are as large along `axis` as follows from values: other types' are refused then.
bool register_varying_onnx_emitter(const std::string& type, OnnxEmitter emitter, int axis);
/// That axis; -1: the tops of this type may not vary.
int varying_axis_in_onnx(const std::string& type);
/// Null where the type is not said in ONNX.
OnnxEmitter find_onnx_emitter(const std::string& type);
/// Sorted.
std::vector<std::string> onnx_emitter_types();

}  // namespace robusta
