// From a model to a net: inputs, then node after node, then outputs. A node that cannot be imported leaves its outputs
// unknown, and nodes that read these are passed over, so that one error names all that a user has to change.

#include "exchange/onnx/import/import.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/nearest.h"
#include "base/str.h"
#include "exchange/onnx/file.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

/// Versions of the operators whose meaning the emitters know.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 23;
constexpr size_t kMostProblems = 50;

struct Problems {
  ErrorKind kind = ErrorKind::kUnsupported;
  std::vector<std::string> lines;

  void add(const onnx::NodeProto& node, const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported && lines.empty()) kind = error.kind();
    const std::string name = !node.name().empty() ? node.name() : node.output_size() ? node.output(0) : "";
    std::string line = str("node \"", name, "\" (", node.op_type(), "): ", error.cause());
    if (!error.fix().empty()) line += "; " + error.fix();
    lines.push_back(line);
  }
};

int64_t opset_of(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") opset = std::max(opset, set.version());
  }
  if (opset >= kOldestOpset && opset <= kNewestOpset) return opset;
  throw Error(ErrorKind::kUnsupported,
              str("the model is of opset ", opset, ", and ", kOldestOpset, " to ", kNewestOpset, " are known"),
              "export it with opset_version 13");
}

Shape input_shape(const onnx::ValueInfoProto& input, const OnnxImportOptions& options) {
  const auto given = options.shapes.find(input.name());
  if (given != options.shapes.end()) return given->second;
  if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) {
    throw Error(ErrorKind::kUnsupported, str("input \"", input.name(), "\" has no shape"),
                str("give one: -shapes ", input.name(), ":1,3,224,224"));
  }
  std::vector<int64_t> dims;
  const auto& given_dims = input.type().tensor_type().shape().dim();
  for (int i = 0; i < given_dims.size(); ++i) {
    const bool known = given_dims[i].value_case() == onnx::TensorShapeProto::Dimension::kDimValue;
    if (i == 0 && (options.batch > 0 || !known)) {
      dims.push_back(std::max<int64_t>(options.batch, 1));
    } else if (known) {
      dims.push_back(given_dims[i].dim_value());
    } else {
      throw Error(
          ErrorKind::kUnsupported,
          str("dimension ", i, " of input \"", input.name(), "\" is open (\"", given_dims[i].dim_param(), "\")"),
          str("give its shape: -shapes ", input.name(), ":1,3,224,224"));
    }
  }
  return Shape(dims);
}

void check_input(const Shape& shape, const std::string& name) {
  const auto& dims = shape.dims();
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 1; }))
    throw Error(ErrorKind::kModel, str("input \"", name, "\" has shape ", shape.str()), "every extent is at least 1");
  check_extents(shape);
}

/// No fewer numbers than the tensor holds, whatever it says of its shape.
int64_t most_numbers(const onnx::TensorProto& tensor, const std::string& path) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return static_cast<int64_t>(tensor.ByteSizeLong());
  std::error_code absent;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() != "location") continue;
    const auto bytes = std::filesystem::file_size(std::filesystem::path(path).parent_path() / entry.value(), absent);
    return absent ? 0 : std::min(tensor_shape(tensor).count(), static_cast<int64_t>(bytes));
  }
  return 0;
}

void add_inputs(OnnxGraph& graph, const OnnxImportOptions& options) {
  for (const onnx::TensorProto& tensor : graph.model.graph().initializer()) {
    graph.stored += most_numbers(tensor, graph.path);
    graph.values[tensor.name()] = {
        .kind = OnnxValue::Kind::kTensor, .shape = tensor_shape(tensor), .blob = "", .constant = {}, .tensor = &tensor};
  }
  for (const onnx::ValueInfoProto& input : graph.model.graph().input()) {
    if (graph.values.contains(input.name())) continue;  // before version 4, weights were inputs with values
    const Shape shape = input_shape(input, options);
    check_input(shape, input.name());
    caffe::LayerParameter layer;
    layer.set_name(unused_name(graph, input.name()));
    layer.set_type("Input");
    layer.add_top(layer.name());
    auto& dims = *layer.mutable_input_param()->add_shape();
    for (const int64_t dim : shape.dims()) dims.add_dim(dim);
    const std::string blob = layer.name();
    append_layer(graph, std::move(layer));
    graph.values[input.name()] = {.kind = OnnxValue::Kind::kBlob, .shape = shape, .blob = blob, .constant = {}};
    graph.imported.inputs.push_back({input.name(), blob, shape});
  }
  for (const auto& [name, shape] : options.shapes) {
    const auto& inputs = graph.imported.inputs;
    const auto is_it = [&wanted = name](const auto& input) { return input.value == wanted; };
    if (std::any_of(inputs.begin(), inputs.end(), is_it)) continue;
    std::vector<std::string> names;
    for (const ImportedBlob& input : inputs) names.push_back(input.value);
    throw Error(ErrorKind::kUsage, str("-shapes names \"", name, "\", which is no input", did_you_mean(name, names)));
  }
}

void note_readers_and_makers(OnnxGraph& graph) {
  for (const onnx::NodeProto& node : graph.model.graph().node()) {
    for (const std::string& input : node.input()) ++graph.readers[input];
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      if (!graph.makers.emplace(output, &node).second || graph.values.contains(output))
        throw Error(ErrorKind::kModel, str("value \"", output, "\" is made twice"), "the model is damaged");
    }
  }
  for (const onnx::ValueInfoProto& output : graph.model.graph().output()) ++graph.readers[output.name()];
}

void require_known_operator(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") {
    throw Error(ErrorKind::kUnsupported, str("it is an operator of the domain ", node.domain()),
                "export with the operators of the standard alone");
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g() && attribute.graphs_size() == 0) continue;
    throw Error(ErrorKind::kUnsupported,
                str("attribute ", attribute.name(), " is a graph of its own: a net of Caffe has no branches and loops"),
                "export the model without control flow, by torch.jit.trace or with fixed shapes");
  }
  if (find_onnx_operator(node.op_type())) return;
  throw Error(ErrorKind::kUnsupported,
              str("operator ", node.op_type(), " has no layer in Caffe that says the same",
                  did_you_mean(node.op_type(), onnx_operators())),
              "replace it in the model, or export the part before it and compute the rest outside of the net");
}

/// False where an input is unknown, because its own node has been refused.
bool inputs_known(const OnnxGraph& graph, const onnx::NodeProto& node) {
  bool known = true;
  for (const std::string& input : node.input()) {
    if (input.empty()) continue;
    const auto found = graph.values.find(input);
    if (found == graph.values.end()) {
      throw Error(ErrorKind::kModel, str("it reads \"", input, "\", which no node before it makes"),
                  "nodes have to stand in the order in which they are computed: the model is damaged, or has a cycle");
    }
    known = known && found->second.kind != OnnxValue::Kind::kUnknown;
  }
  return known;
}

void import_node(OnnxGraph& graph, const onnx::NodeProto& node, int64_t opset, Problems& problems) {
  for (const std::string& output : node.output()) {
    if (!output.empty()) graph.values[output];  // unknown until it is made
  }
  ImportNode seen(graph, node, opset);
  try {
    const bool known = inputs_known(graph, node);
    const bool constant = known && std::all_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
                            return input.empty() || graph.values.at(input).kind != OnnxValue::Kind::kBlob;
                          });
    if (constant && fold_node(seen)) return;
    require_known_operator(node);
    if (known) find_onnx_operator(node.op_type())(seen);
  } catch (const Error& error) {
    problems.add(node, error);
  }
}

void add_outputs(OnnxGraph& graph) {
  for (const onnx::ValueInfoProto& output : graph.model.graph().output()) {
    const auto found = graph.values.find(output.name());
    if (found == graph.values.end() || found->second.kind != OnnxValue::Kind::kBlob) {
      throw Error(ErrorKind::kModel, str("output \"", output.name(), "\" does not depend on the inputs"),
                  "leave it out of the model");
    }
    graph.imported.outputs.push_back({output.name(), found->second.blob, found->second.shape});
  }
  if (graph.imported.outputs.empty())
    throw Error(ErrorKind::kModel, "the model has no outputs", "name them when you export it");
}

void require_none(const Problems& problems) {
  if (problems.lines.empty()) return;
  std::ostringstream text;
  text << problems.lines.size() << (problems.lines.size() == 1 ? " node" : " nodes")
       << " of the model cannot be said in Caffe:";
  for (size_t i = 0; i < std::min(problems.lines.size(), kMostProblems); ++i) text << "\n  " << problems.lines[i];
  if (problems.lines.size() > kMostProblems) text << "\n  and " << problems.lines.size() - kMostProblems << " more";
  throw Error(problems.kind, text.str());
}

}  // namespace

ImportedNet import_onnx(const onnx::ModelProto& model, const std::string& path, const OnnxImportOptions& options) {
  try {
    const int64_t opset = opset_of(model);
    OnnxGraph graph{.model = model,
                    .path = path,
                    .values = {},
                    .readers = {},
                    .makers = {},
                    .imported = {},
                    .blobs = {},
                    .names = {}};
    graph.imported.net.set_name(model.graph().name().empty() ? "onnx" : unused_name(graph, model.graph().name()));
    graph.names.clear();
    add_inputs(graph, options);
    note_readers_and_makers(graph);
    Problems problems;
    for (const onnx::NodeProto& node : model.graph().node()) import_node(graph, node, opset, problems);
    require_none(problems);
    add_outputs(graph);
    finish_net(graph);
    return std::move(graph.imported);
  } catch (Error& error) {
    if (error.kind() == ErrorKind::kConfig) throw Error(ErrorKind::kModel, error.cause(), error.fix()).at(path);
    throw error.at(path);
  }
}

caffe::NetParameter without_arrays(caffe::NetParameter net) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) layer.clear_blobs();
  return net;
}

}  // namespace robusta
