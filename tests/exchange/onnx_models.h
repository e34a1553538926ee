/// Models of ONNX for the tests of the import, made node by node.
#pragma once

#include <string>
#include <vector>

#include "exchange/onnx/file.h"
#include "exchange/onnx/import/import.h"
#include "exchange/onnx/import/imported_run.h"

namespace robusta::test {

/// The outputs for these inputs, both in the model's order.
inline std::vector<std::vector<float>> run_imported(const ImportedNet& imported,
                                                    const std::vector<std::vector<float>>& inputs) {
  const std::unique_ptr<Net> net = net_of(imported);
  for (size_t i = 0; i < inputs.size(); ++i) net->blobs().write(imported.inputs.at(i).blob, inputs[i]);
  net->forward({.batch = net->batch()});
  std::vector<std::vector<float>> outputs;
  for (const ImportedBlob& output : imported.outputs) outputs.push_back(net->blobs().read(output.blob));
  return outputs;
}

class OnnxModel {
 public:
  explicit OnnxModel(int64_t opset = 13) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("test");
  }

  OnnxModel& input(const std::string& name, const std::vector<int64_t>& dims) {
    onnx::ValueInfoProto& info = *model.mutable_graph()->add_input();
    info.set_name(name);
    auto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    model.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  OnnxModel& floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    *model.mutable_graph()->add_initializer() = float_tensor(name, shape, values);
    return *this;
  }
  OnnxModel& integers(const std::string& name, const std::vector<int64_t>& values) {
    *model.mutable_graph()->add_initializer() =
        integer_tensor(name, Shape{static_cast<int64_t>(values.size())}, values);
    return *this;
  }
  OnnxModel& node(const std::string& type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type(type);
    node.set_name(type + "_" + outputs.at(0));
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return *this;
  }
  /// Attributes of the last node.
  OnnxModel& set(const std::string& name, int64_t value) {
    attribute(name).set_i(value);
    return *this;
  }
  OnnxModel& set(const std::string& name, float value) {
    attribute(name).set_f(value);
    return *this;
  }
  OnnxModel& set(const std::string& name, const char* value) {
    attribute(name).set_s(value);
    return *this;
  }
  OnnxModel& list(const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& list = attribute(name);
    for (const int64_t value : values) list.add_ints(value);
    return *this;
  }

  ImportedNet imported(const OnnxImportOptions& options = {}) const { return import_onnx(model, "m.onnx", options); }
  /// The first output for these inputs.
  std::vector<float> run(const std::vector<std::vector<float>>& inputs) const {
    return run_imported(imported(), inputs).at(0);
  }
  /// The layers of the net, "Input ReLU ...".
  std::string types() const {
    std::string types;
    const auto read = imported();
    for (const caffe::LayerParameter& layer : read.net.layer()) types += (types.empty() ? "" : " ") + layer.type();
    return types;
  }

  onnx::ModelProto model;

 private:
  onnx::AttributeProto& attribute(const std::string& name) {
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::AttributeProto& attribute = *graph.mutable_node(graph.node_size() - 1)->add_attribute();
    attribute.set_name(name);
    return attribute;
  }
};

/// 0, 1, 2, ...
inline std::vector<float> counting(size_t count, float step = 1, float first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + step * static_cast<float>(i);
  return values;
}

}  // namespace robusta::test
