// Attributes and inputs of a node, and the layers that many operators need.

#include "exchange/onnx/import/node.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "exchange/onnx/file.h"
#include "schema/blob_proto.h"

namespace robusta {
namespace {

/// What constants may hold together: what exporters leave is small, and a file of few bytes could ask for anything.
constexpr int64_t kMostFolded = int64_t{1} << 24;

std::map<std::string, OnnxOperator>& operators() {
  static std::map<std::string, OnnxOperator> operators;
  return operators;
}

OnnxConstant read_constant(const onnx::TensorProto& tensor, const std::string& path) {
  OnnxConstant constant{tensor_shape(tensor), {}, false};
  const int type = tensor.data_type();
  using Proto = onnx::TensorProto;
  if (type == Proto::FLOAT || type == Proto::DOUBLE || type == Proto::FLOAT16 || type == Proto::BFLOAT16) {
    const std::vector<float> values = tensor_values(tensor, path);
    constant.values.assign(values.begin(), values.end());
  } else {
    const std::vector<int64_t> values = tensor_integers(tensor, path);
    constant.values.assign(values.begin(), values.end());
    constant.whole = true;
  }
  return constant;
}

std::vector<int64_t> as_integers(const OnnxConstant& constant) {
  constexpr double kMost = 9e18;
  std::vector<int64_t> numbers;
  for (const double value : constant.values)
    numbers.push_back(std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -kMost, kMost)));
  return numbers;
}

}  // namespace

bool register_onnx_operator(const std::string& type, OnnxOperator emitter) {
  return operators().emplace(type, emitter).second;
}

OnnxOperator find_onnx_operator(const std::string& type) {
  const auto found = operators().find(type);
  return found == operators().end() ? nullptr : found->second;
}

std::vector<std::string> onnx_operators() {
  std::vector<std::string> types;
  for (const auto& [type, emitter] : operators()) types.push_back(type);
  return types;
}

void add_array(caffe::LayerParameter& layer, const Shape& shape, const std::vector<float>& values) {
  blob_to_proto(shape.dims(), values.data(), layer.add_blobs());
}

std::vector<float> as_floats(const OnnxConstant& constant) { return {constant.values.begin(), constant.values.end()}; }

const onnx::AttributeProto* ImportNode::attribute(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t ImportNode::integer(const std::string& name, int64_t standard) const {
  const onnx::AttributeProto* found = attribute(name);
  return found ? found->i() : standard;
}

double ImportNode::number(const std::string& name, double standard) const {
  const onnx::AttributeProto* found = attribute(name);
  return found ? found->f() : standard;
}

std::string ImportNode::text(const std::string& name, const std::string& standard) const {
  const onnx::AttributeProto* found = attribute(name);
  return found ? found->s() : standard;
}

std::vector<int64_t> ImportNode::integers(const std::string& name, const std::vector<int64_t>& standard) const {
  const onnx::AttributeProto* found = attribute(name);
  return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end()) : standard;
}

std::vector<int64_t> ImportNode::integers_or_input(const std::string& name, int input) const {
  return attribute(name) ? integers(name) : has(input) ? whole_numbers(input) : std::vector<int64_t>{};
}

bool ImportNode::has(int input) const { return input < proto_.input_size() && !proto_.input(input).empty(); }

const OnnxValue& ImportNode::value(int input) const {
  if (!has(input)) contradict(str("input ", input, " is absent"));
  return graph_.values.at(proto_.input(input));  // import_onnx has looked at all inputs
}

const Shape& ImportNode::shape(int input) const { return value(input).shape; }

bool ImportNode::is_constant(int input) const { return value(input).kind != OnnxValue::Kind::kBlob; }

OnnxConstant ImportNode::constant(int input) const {
  const OnnxValue& from = value(input);
  if (from.kind == OnnxValue::Kind::kTensor) return read_constant(*from.tensor, graph_.path);
  if (from.kind == OnnxValue::Kind::kConstant) return *from.constant;
  refuse(str("input ", input, " (\"", proto_.input(input), "\")"), "it depends on the inputs of the model",
         "export with constants there (eval(), fixed shapes)");
}

std::vector<int64_t> ImportNode::whole_numbers(int input) const { return as_integers(constant(input)); }

std::vector<float> ImportNode::floats(int input) const {
  const OnnxValue& from = value(input);
  if (from.kind == OnnxValue::Kind::kTensor) return tensor_values(*from.tensor, graph_.path);
  return as_floats(constant(input));
}

std::string ImportNode::blob(int input) {
  const OnnxValue& from = value(input);
  if (from.kind == OnnxValue::Kind::kBlob) return from.blob;
  if (from.shape.count() == 0) refuse(str("input ", input), "it holds nothing", "leave it out of the model");
  caffe::LayerParameter param = new_layer("Parameter", {});
  param.set_name(unused_name(graph_, proto_.input(input)));
  param.set_top(0, param.name());
  for (const int64_t dim : from.shape.dims()) param.mutable_parameter_param()->mutable_shape()->add_dim(dim);
  if (from.shape.axes() == 0) param.mutable_parameter_param()->mutable_shape();
  add_array(param, from.shape, floats(input));
  return append(param);
}

bool ImportNode::is_read(int output) const {
  return output < proto_.output_size() && !proto_.output(output).empty() &&
         graph_.readers.contains(proto_.output(output));
}

const onnx::NodeProto* ImportNode::sole_maker(int input) const {
  const std::string& name = proto_.input(input);
  const auto readers = graph_.readers.find(name);
  const auto maker = graph_.makers.find(name);
  return maker != graph_.makers.end() && readers != graph_.readers.end() && readers->second == 1 ? maker->second
                                                                                                 : nullptr;
}

int ImportNode::axis_of(int64_t axis, int axes) const {
  if (axis < -axes || axis >= axes) contradict(str("axis ", axis, " of a value of ", axes, " axes"));
  return static_cast<int>(axis < 0 ? axis + axes : axis);
}

caffe::LayerParameter ImportNode::new_layer(const std::string& type, const std::vector<std::string>& bottoms) {
  caffe::LayerParameter param;
  const bool named = proto_.output_size() > 0 && !proto_.output(0).empty();
  param.set_name(unused_name(graph_, named ? proto_.output(0) : proto_.name()));
  param.set_type(type);
  for (const std::string& bottom : bottoms) param.add_bottom(bottom);
  param.add_top(param.name());
  return param;
}

std::string ImportNode::append(const caffe::LayerParameter& param) {
  append_layer(graph_, param);
  return param.top(0);
}

std::string ImportNode::power(const std::string& bottom, double power, double scale, double shift) {
  if (power == 1 && scale == 1 && shift == 0) return bottom;
  return layer("Power", {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_power_param();
    if (power != 1) p.set_power(static_cast<float>(power));
    if (scale != 1) p.set_scale(static_cast<float>(scale));
    if (shift != 0) p.set_shift(static_cast<float>(shift));
  });
}

std::string ImportNode::reshape(const std::string& bottom, const Shape& shape) {
  const Shape from = blob_shape(bottom);
  if (from == shape) return bottom;
  if (from.count() != shape.count()) contradict(str("shape ", from.str(), " cannot become ", shape.str()));
  if (from.axes() > 2 && shape.axes() == 2 && shape[0] == from[0]) return layer("Flatten", {bottom});
  return layer("Reshape", {bottom}, [&](caffe::LayerParameter& param) {
    auto& to = *param.mutable_reshape_param()->mutable_shape();
    for (int axis = 0; axis < shape.axes(); ++axis) {
      // 0 takes the extent of the bottom: another batch then needs no other net.
      const bool kept = axis == 0 && from.axes() > 0 && from[0] == shape[0];
      to.add_dim(kept ? 0 : shape[axis]);
    }
  });
}

std::string ImportNode::permute(const std::string& bottom, const std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) return bottom;
  return layer("Permute", {bottom}, [&](caffe::LayerParameter& param) {
    for (const int axis : order) param.mutable_permute_param()->add_order(static_cast<uint32_t>(axis));
  });
}

std::string ImportNode::broadcast(const std::string& bottom, const Shape& shape) {
  const int missing = shape.axes() - blob_shape(bottom).axes();
  std::vector<int64_t> dims(static_cast<size_t>(std::max(missing, 0)), 1);
  for (const int64_t dim : blob_shape(bottom).dims()) dims.push_back(dim);
  std::string to = reshape(bottom, Shape(dims));
  for (int axis = 0; axis < shape.axes(); ++axis) {
    if (blob_shape(to)[axis] == shape[axis]) continue;
    if (blob_shape(to)[axis] != 1) contradict(str(blob_shape(to).str(), " cannot be repeated to ", shape.str()));
    if (shape[axis] > std::numeric_limits<int32_t>::max()) contradict(str("an axis has ", shape[axis], " entries"));
    to = layer("Tile", {to}, [&](caffe::LayerParameter& param) {
      param.mutable_tile_param()->set_axis(axis);
      param.mutable_tile_param()->set_tiles(static_cast<int32_t>(shape[axis]));
    });
  }
  return to;
}

std::string ImportNode::slice(const std::string& bottom, int axis, int64_t begin, int64_t end) {
  const int64_t extent = blob_shape(bottom)[axis];
  if (begin == 0 && end == extent) return bottom;
  caffe::LayerParameter param = new_layer("Slice", {bottom});
  const std::string name = param.name();
  param.mutable_slice_param()->set_axis(axis);
  param.clear_top();
  if (begin > 0) {
    param.add_top(unused_name(graph_, name + "_before"));
    param.mutable_slice_param()->add_slice_point(static_cast<uint32_t>(begin));
  }
  param.add_top(name);
  if (end < extent) {
    param.add_top(unused_name(graph_, name + "_behind"));
    param.mutable_slice_param()->add_slice_point(static_cast<uint32_t>(end));
  }
  append_layer(graph_, param);
  return name;
}

OnnxValue& ImportNode::made(int index) {
  if (index >= proto_.output_size()) contradict(str("it has no output ", index));
  return graph_.values[proto_.output(index)];
}

void ImportNode::output(const std::string& blob, int index) {
  made(index) = {.kind = OnnxValue::Kind::kBlob, .shape = blob_shape(blob), .blob = blob, .constant = {}};
}

void ImportNode::output(OnnxConstant constant, int index) {
  const Shape shape = constant.shape;
  made(index) = {.kind = OnnxValue::Kind::kConstant,
                 .shape = shape,
                 .blob = "",
                 .constant = std::make_shared<const OnnxConstant>(std::move(constant))};
}

void ImportNode::output_tensor(const onnx::TensorProto& tensor) {
  made(0) = {
      .kind = OnnxValue::Kind::kTensor, .shape = tensor_shape(tensor), .blob = "", .constant = {}, .tensor = &tensor};
}

void ImportNode::pass_on(int input) {
  const OnnxValue from = value(input);
  made(0) = from;
}

void ImportNode::warn(const std::string& text) {
  auto& warnings = graph_.imported.warnings;
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
}

void ImportNode::refuse(const std::string& what, const std::string& cause, const std::string& fix) const {
  throw Error(ErrorKind::kUnsupported, str(what, ": ", cause), fix);
}

void ImportNode::contradict(const std::string& cause) const {
  throw Error(ErrorKind::kModel, cause, "the model is damaged, or not made for inputs of this shape");
}

void ImportNode::count_folded(const Shape& shape) const {
  graph_.folded += shape.count();
  if (shape.count() <= kMostFolded && graph_.folded <= kMostFolded) return;
  throw Error(ErrorKind::kModel, str("constants of more than ", kMostFolded, " numbers would have to be computed"),
              "store them in the model");
}

}  // namespace robusta
