/// What the emitters of operators share while a model is imported: the values of the model, and the net so far.
///
/// A value is a constant, whose numbers are known, or a blob of the net. Shapes of blobs are those that the layers
/// themselves infer (Layer::infer_tops), so that a net which the trainer would refuse is refused here, at its node.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exchange/onnx/import/imported_net.h"
#include "onnx.pb.h"

namespace robusta {

/// Numbers that are known. Whole ones up to 2^53 are exact, beyond what any shape, axis or index says.
struct OnnxConstant {
  Shape shape;
  std::vector<double> values;
  bool whole = false;  ///< of an integer type, or truth values: divisions round towards zero
};

struct OnnxValue {
  enum class Kind { kUnknown, kTensor, kConstant, kBlob };
  Kind kind = Kind::kUnknown;  ///< kUnknown: its node could not be imported
  Shape shape;
  std::string blob;                              ///< kBlob
  std::shared_ptr<const OnnxConstant> constant;  ///< kConstant
  const onnx::TensorProto* tensor = nullptr;     ///< kTensor: numbers of the file, read where they are used
};

struct OnnxGraph {
  const onnx::ModelProto& model;
  std::string path;
  std::map<std::string, OnnxValue> values;
  std::map<std::string, int> readers;                    ///< of values; outputs of the graph count as one
  std::map<std::string, const onnx::NodeProto*> makers;  ///< of values
  ImportedNet imported;
  std::map<std::string, Shape> blobs;
  std::set<std::string> names;  ///< of layers and blobs
  int64_t folded = 0;           ///< numbers that were computed so far
  int64_t stored = 0;           ///< numbers of the model's own tensors
  int64_t written = 0;          ///< numbers of the layers' arrays so far
};

/// A name that no layer and no blob has, from the name of a value or node: without a leading slash and exporters'
/// endings, other characters than letters, digits and _ / . - : replaced.
std::string unused_name(OnnxGraph& graph, const std::string& from);

/// Appends a layer; returns its tops' shapes. Throws Error{kUnsupported} with the layer's own reason.
std::vector<Shape> append_layer(OnnxGraph& graph, caffe::LayerParameter layer);

/// Layers and their order as they shall be written: none that nobody needs, every output a blob that no layer reads.
void finish_net(OnnxGraph& graph);

}  // namespace robusta
