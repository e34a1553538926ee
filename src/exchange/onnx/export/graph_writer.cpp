// A dimension that follows the batch has a name, which is the same wherever it is the same number.

#include "exchange/onnx/export/graph_writer.h"

#include "base/str.h"
#include "exchange/onnx/file.h"

namespace robusta {
namespace {

void set_attribute(const OnnxAttribute& given, onnx::AttributeProto& attribute) {
  attribute.set_name(given.name);
  if (const auto* integer = std::get_if<int64_t>(&given.value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*integer);
  } else if (const auto* number = std::get_if<float>(&given.value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(*number);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&given.value)) {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t each : *integers) attribute.add_ints(each);
  } else {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(std::get<std::string>(given.value));
  }
}

void describe_value(const std::string& name, const Dims& dims, int64_t batch, onnx::ValueInfoProto& value) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  auto& shape = *tensor.mutable_shape();
  for (const Dim& dim : dims) {
    auto& entry = *shape.add_dim();
    const int64_t each = dim.value / batch;
    if (dim.batch_power == 0) {
      entry.set_dim_value(dim.value);
    } else {
      entry.set_dim_param(each == 1 ? "batch" : str(each, "*batch"));
    }
  }
}

}  // namespace

std::string OnnxGraphWriter::unique(const std::string& wish) {
  std::string name = wish;
  for (int number = 1; !names_.insert(name).second; ++number) name = str(wish, "_", number);
  return name;
}

void OnnxGraphWriter::add_node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const OnnxAttributes& attributes) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  for (const OnnxAttribute& attribute : attributes) set_attribute(attribute, *node.add_attribute());
}

std::string OnnxGraphWriter::floats(const std::string& key, const std::string& name, const Shape& shape,
                                    const std::function<std::vector<float>()>& values) {
  std::string& array = arrays_[key];
  if (!array.empty()) return array;
  array = unique(name);
  *graph_.add_initializer() = float_tensor(array, shape, values());
  return array;
}

std::string OnnxGraphWriter::integers(const std::string& key, const std::string& name, const Shape& shape,
                                      const std::vector<int64_t>& values) {
  std::string& array = arrays_[key];
  if (!array.empty()) return array;
  array = unique(name);
  *graph_.add_initializer() = integer_tensor(array, shape, values);
  return array;
}

void OnnxGraphWriter::add_input(const std::string& name, const Dims& dims, int64_t batch) {
  describe_value(name, dims, batch, *graph_.add_input());
}

void OnnxGraphWriter::add_output(const std::string& name, const Dims& dims, int64_t batch) {
  describe_value(name, dims, batch, *graph_.add_output());
}

}  // namespace robusta
