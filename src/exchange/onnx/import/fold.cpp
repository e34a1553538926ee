// Nodes of constants are computed: chains over shapes and indices that exporters leave, and tables such as grids.
//
// Each operator is a row of a table; those of single elements are repeated as the standard says (broadcasting).

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/str.h"
#include "exchange/onnx/file.h"
#include "exchange/onnx/import/node.h"

namespace robusta {

bool broadcast_shape(const Shape& a, const Shape& b, Shape& both) {
  const int axes = std::max(a.axes(), b.axes());
  std::vector<int64_t> dims(static_cast<size_t>(axes));
  for (int i = 1; i <= axes; ++i) {
    const int64_t of_a = i <= a.axes() ? a[a.axes() - i] : 1, of_b = i <= b.axes() ? b[b.axes() - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return false;
    dims[static_cast<size_t>(axes - i)] = of_a == 1 ? of_b : of_a;
  }
  both = Shape(dims);
  return true;
}

namespace {

/// Calls visit(index of every coordinate, place in row-major order).
template <typename Visit>
void for_each_index(const Shape& shape, const Visit& visit) {
  std::vector<int64_t> index(static_cast<size_t>(shape.axes()));
  for (int64_t i = 0; i < shape.count(); ++i) {
    visit(index, i);
    for (int axis = shape.axes() - 1; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

int64_t place_of(const std::vector<int64_t>& index, const Shape& shape) {
  int64_t place = 0;
  const size_t missing = index.size() - static_cast<size_t>(shape.axes());
  for (int axis = 0; axis < shape.axes(); ++axis)
    place = place * shape[axis] + (shape[axis] == 1 ? 0 : index[missing + static_cast<size_t>(axis)]);
  return place;
}

using Binary = double (*)(double, double);

/// Of whole numbers division rounds towards zero.
Binary binary_function(const std::string& type, bool whole) {
  if (type == "Add") return [](double a, double b) { return a + b; };
  if (type == "Sub") return [](double a, double b) { return a - b; };
  if (type == "Mul") return [](double a, double b) { return a * b; };
  if (type == "Div" && whole) return [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); };
  if (type == "Div") return [](double a, double b) { return a / b; };
  if (type == "Mod") return [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); };
  if (type == "Pow") return [](double a, double b) { return std::pow(a, b); };
  if (type == "Min") return [](double a, double b) { return std::min(a, b); };
  if (type == "Max") return [](double a, double b) { return std::max(a, b); };
  if (type == "Equal") return [](double a, double b) { return static_cast<double>(a == b); };
  if (type == "Less") return [](double a, double b) { return static_cast<double>(a < b); };
  if (type == "Greater") return [](double a, double b) { return static_cast<double>(a > b); };
  if (type == "LessOrEqual") return [](double a, double b) { return static_cast<double>(a <= b); };
  if (type == "GreaterOrEqual") return [](double a, double b) { return static_cast<double>(a >= b); };
  if (type == "And") return [](double a, double b) { return static_cast<double>(a != 0 && b != 0); };
  if (type == "Or") return [](double a, double b) { return static_cast<double>(a != 0 || b != 0); };
  return nullptr;
}

using Unary = double (*)(double);

Unary unary_function(const std::string& type) {
  if (type == "Neg") return [](double x) { return -x; };
  if (type == "Abs") return [](double x) { return std::abs(x); };
  if (type == "Sqrt") return [](double x) { return std::sqrt(x); };
  if (type == "Exp") return [](double x) { return std::exp(x); };
  if (type == "Log") return [](double x) { return std::log(x); };
  if (type == "Floor") return [](double x) { return std::floor(x); };
  if (type == "Ceil") return [](double x) { return std::ceil(x); };
  if (type == "Round") return [](double x) { return std::nearbyint(x); };
  if (type == "Reciprocal") return [](double x) { return 1 / x; };
  if (type == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (type == "Relu") return [](double x) { return std::max(x, 0.0); };
  if (type == "Not") return [](double x) { return static_cast<double>(x == 0); };
  return nullptr;
}

bool compares(const std::string& type) {
  return type == "Equal" || type == "And" || type == "Or" || type.starts_with("Less") || type.starts_with("Greater");
}

OnnxConstant combine(const ImportNode& node, const OnnxConstant& a, const OnnxConstant& b, Binary function) {
  OnnxConstant result;
  if (!broadcast_shape(a.shape, b.shape, result.shape))
    node.contradict(str("shapes ", a.shape.str(), " and ", b.shape.str(), " do not fit together"));
  node.count_folded(result.shape);
  result.whole = (a.whole && b.whole) || compares(node.type());
  result.values.resize(static_cast<size_t>(result.shape.count()));
  for_each_index(result.shape, [&](const std::vector<int64_t>& index, int64_t i) {
    result.values[static_cast<size_t>(i)] = function(a.values[static_cast<size_t>(place_of(index, a.shape))],
                                                     b.values[static_cast<size_t>(place_of(index, b.shape))]);
  });
  return result;
}

OnnxConstant mapped(OnnxConstant constant, Unary function) {
  for (double& value : constant.values) value = function(value);
  return constant;
}

OnnxConstant reshaped(const ImportNode& node, OnnxConstant constant, const Shape& shape) {
  if (shape.count() != constant.shape.count())
    node.contradict(str("shape ", constant.shape.str(), " cannot become ", shape.str()));
  node.count_folded(shape);
  constant.shape = shape;
  return constant;
}

void fold_constant(ImportNode& node) {
  const onnx::AttributeProto* found = node.attribute("value");
  if (found && found->has_t()) {
    node.output_tensor(found->t());
  } else if (node.attribute("value_int")) {
    node.output(OnnxConstant{Shape{}, {static_cast<double>(node.integer("value_int", 0))}, true});
  } else if (node.attribute("value_float")) {
    node.output(OnnxConstant{Shape{}, {node.number("value_float", 0)}, false});
  } else if (node.attribute("value_ints")) {
    const std::vector<int64_t> list = node.integers("value_ints");
    node.output(OnnxConstant{Shape{static_cast<int64_t>(list.size())}, {list.begin(), list.end()}, true});
  } else if (const onnx::AttributeProto* floats = node.attribute("value_floats")) {
    node.output(OnnxConstant{Shape{floats->floats_size()}, {floats->floats().begin(), floats->floats().end()}, false});
  } else {
    node.refuse("attribute value", "it holds no tensor of numbers", "leave the node out");
  }
}

void fold_concat(ImportNode& node) {
  OnnxConstant result = node.constant(0);
  const int axis = node.axis_of(node.integer("axis", 0), result.shape.axes());
  for (int input = 1; input < node.proto().input_size(); ++input) {
    const OnnxConstant next = node.constant(input);
    Shape wanted = result.shape;
    if (next.shape.axes() == wanted.axes()) wanted[axis] = next.shape[axis];
    if (!(wanted == next.shape)) node.contradict(str("shapes ", result.shape.str(), " and ", next.shape.str()));
    const size_t rows = static_cast<size_t>(result.shape.count(0, axis));
    const size_t a = static_cast<size_t>(result.shape.count(axis)), b = static_cast<size_t>(next.shape.count(axis));
    OnnxConstant joined{result.shape, {}, result.whole && next.whole};
    joined.shape[axis] += next.shape[axis];
    node.count_folded(joined.shape);
    for (size_t row = 0; row < rows; ++row) {
      joined.values.insert(joined.values.end(), result.values.begin() + static_cast<int64_t>(row * a),
                           result.values.begin() + static_cast<int64_t>((row + 1) * a));
      joined.values.insert(joined.values.end(), next.values.begin() + static_cast<int64_t>(row * b),
                           next.values.begin() + static_cast<int64_t>((row + 1) * b));
    }
    result = std::move(joined);
  }
  node.output(std::move(result));
}

void fold_gather(ImportNode& node) {
  const OnnxConstant from = node.constant(0), indices = node.constant(1);
  const int axis = node.axis_of(node.integer("axis", 0), from.shape.axes());
  std::vector<int64_t> dims(from.shape.dims().begin(), from.shape.dims().begin() + axis);
  dims.insert(dims.end(), indices.shape.dims().begin(), indices.shape.dims().end());
  dims.insert(dims.end(), from.shape.dims().begin() + axis + 1, from.shape.dims().end());
  OnnxConstant result{Shape(dims), {}, from.whole};
  check_extents(result.shape);
  node.count_folded(result.shape);
  const int64_t before = from.shape.count(0, axis), extent = from.shape[axis], behind = from.shape.count(axis + 1);
  for (int64_t i = 0; i < before; ++i) {
    for (const double given : indices.values) {
      const double index = given < 0 ? given + static_cast<double>(extent) : given;
      if (!(index >= 0 && index < static_cast<double>(extent))) node.contradict(str("index ", given, " of ", extent));
      const auto begin = from.values.begin() + (i * extent + static_cast<int64_t>(index)) * behind;
      result.values.insert(result.values.end(), begin, begin + behind);
    }
  }
  node.output(std::move(result));
}

void fold_slice(ImportNode& node) {
  const OnnxConstant from = node.constant(0);
  const std::vector<SliceRange> ranges = slice_ranges(node, from.shape);
  OnnxConstant result{from.shape, {}, from.whole};
  for (int axis = 0; axis < from.shape.axes(); ++axis) result.shape[axis] = ranges[static_cast<size_t>(axis)].count;
  node.count_folded(result.shape);
  result.values.resize(static_cast<size_t>(result.shape.count()));
  for_each_index(result.shape, [&](const std::vector<int64_t>& index, int64_t i) {
    int64_t place = 0;
    for (int axis = 0; axis < from.shape.axes(); ++axis) {
      const SliceRange& range = ranges[static_cast<size_t>(axis)];
      place = place * from.shape[axis] + range.begin + range.step * index[static_cast<size_t>(axis)];
    }
    result.values[static_cast<size_t>(i)] = from.values[static_cast<size_t>(place)];
  });
  node.output(std::move(result));
}

void fold_range(ImportNode& node) {
  const OnnxConstant begin = node.constant(0), end = node.constant(1), step = node.constant(2);
  if (begin.values.empty() || end.values.empty() || step.values.empty() || step.values[0] == 0)
    node.contradict("start, limit or delta is absent or 0");
  const double count = std::ceil((end.values[0] - begin.values[0]) / step.values[0]);
  if (!(count < 1e9)) node.contradict(str("it has ", count, " entries"));
  OnnxConstant result{Shape{static_cast<int64_t>(std::max(count, 0.0))}, {}, begin.whole};
  node.count_folded(result.shape);
  for (int64_t i = 0; i < result.shape[0]; ++i)
    result.values.push_back(begin.values[0] + static_cast<double>(i) * step.values[0]);
  node.output(std::move(result));
}

void fold_filled(ImportNode& node) {
  const Shape shape(node.whole_numbers(0));
  check_extents(shape);
  node.count_folded(shape);
  OnnxConstant result{shape, {}, false};
  double value = 0;
  if (const onnx::AttributeProto* found = node.attribute("value"); found && found->has_t()) {
    const std::vector<float> values = tensor_values(found->t(), node.graph().path);
    if (!values.empty()) value = values[0];
    result.whole = found->t().data_type() != onnx::TensorProto::FLOAT;
  }
  result.values.assign(static_cast<size_t>(shape.count()), value);
  node.output(std::move(result));
}

void fold_expand(ImportNode& node) {
  const OnnxConstant from = node.constant(0);
  const Shape given(node.whole_numbers(1));
  check_extents(given);
  Shape to;
  if (!broadcast_shape(from.shape, given, to)) node.contradict("its shapes do not fit together");
  node.count_folded(to);
  node.output(broadcast_constant(from, to));
}

void fold_where(ImportNode& node) {
  const OnnxConstant choice = node.constant(0), a = node.constant(1), b = node.constant(2);
  Shape both, all;
  if (!broadcast_shape(a.shape, b.shape, both) || !broadcast_shape(both, choice.shape, all))
    node.contradict("its shapes do not fit together");
  node.count_folded(all);
  const OnnxConstant c = broadcast_constant(choice, all), second = broadcast_constant(b, all);
  OnnxConstant result = broadcast_constant(a, all);
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = c.values[i] != 0 ? result.values[i] : second.values[i];
  node.output(std::move(result));
}

void fold_transpose(ImportNode& node) {
  const OnnxConstant from = node.constant(0);
  const std::vector<int> order = transpose_order(node, from.shape.axes());
  OnnxConstant result{from.shape, std::vector<double>(from.values.size()), from.whole};
  for (int axis = 0; axis < from.shape.axes(); ++axis)
    result.shape[axis] = from.shape[order[static_cast<size_t>(axis)]];
  node.count_folded(result.shape);
  std::vector<int64_t> source(order.size());
  for_each_index(result.shape, [&](const std::vector<int64_t>& index, int64_t i) {
    for (size_t axis = 0; axis < order.size(); ++axis) source[static_cast<size_t>(order[axis])] = index[axis];
    result.values[static_cast<size_t>(i)] = from.values[static_cast<size_t>(place_of(source, from.shape))];
  });
  node.output(std::move(result));
}

void fold_cast(ImportNode& node) {
  OnnxConstant constant = node.constant(0);
  node.count_folded(constant.shape);
  using Proto = onnx::TensorProto;
  const int64_t to = node.integer("to", Proto::FLOAT);
  constant.whole = to != Proto::FLOAT && to != Proto::DOUBLE && to != Proto::FLOAT16 && to != Proto::BFLOAT16;
  for (double& value : constant.values) {
    if (to == Proto::BOOL) value = value != 0;
    if (constant.whole) value = std::trunc(value);
  }
  node.output(std::move(constant));
}

void fold_reduction(ImportNode& node) {
  const OnnxConstant from = node.constant(0);
  double result = node.type() == "ReduceProd" ? 1 : 0;
  for (const double value : from.values) result = node.type() == "ReduceProd" ? result * value : result + value;
  const std::vector<int64_t> axes = node.integers_or_input("axes", 1);
  if (from.shape.axes() > 1 && static_cast<int>(axes.size()) < from.shape.axes() && !axes.empty())
    node.refuse("attribute axes", "some axes of a constant are reduced", "let the exporter fold constants");
  const bool keeps = node.integer("keepdims", 1) != 0;
  node.output(
      OnnxConstant{keeps ? Shape(std::vector<int64_t>(from.shape.dims().size(), 1)) : Shape{}, {result}, from.whole});
}

void fold_reshaping(ImportNode& node) {
  OnnxConstant constant = node.constant(0);
  const Shape to = reshaped_shape(node, constant.shape);
  node.output(reshaped(node, std::move(constant), to));
}

const std::map<std::string, OnnxOperator>& folders() {
  static const std::map<std::string, OnnxOperator> folders = {
      {"Constant", fold_constant}, {"Concat", fold_concat},        {"Gather", fold_gather},
      {"Slice", fold_slice},       {"Range", fold_range},          {"ConstantOfShape", fold_filled},
      {"Expand", fold_expand},     {"Where", fold_where},          {"Transpose", fold_transpose},
      {"Cast", fold_cast},         {"ReduceProd", fold_reduction}, {"ReduceSum", fold_reduction},
      {"Reshape", fold_reshaping}, {"Squeeze", fold_reshaping},    {"Unsqueeze", fold_reshaping},
      {"Flatten", fold_reshaping},
  };
  return folders;
}

}  // namespace

OnnxConstant broadcast_constant(const OnnxConstant& from, const Shape& to) {
  OnnxConstant result{to, std::vector<double>(static_cast<size_t>(to.count())), from.whole};
  for_each_index(to, [&](const std::vector<int64_t>& index, int64_t i) {
    result.values[static_cast<size_t>(i)] = from.values[static_cast<size_t>(place_of(index, from.shape))];
  });
  return result;
}

bool fold_node(ImportNode& node) {
  const onnx::NodeProto& proto = node.proto();
  if (!proto.domain().empty() && proto.domain() != "ai.onnx") return false;
  if (node.type() == "Identity" || node.type() == "Dropout") return node.pass_on(0), true;
  if (node.type() == "Shape") return false;  // its emitter needs no numbers
  if (const auto folder = folders().find(node.type()); folder != folders().end()) return folder->second(node), true;
  if (const Unary function = unary_function(node.type())) {
    const OnnxConstant constant = node.constant(0);
    node.count_folded(constant.shape);
    return node.output(mapped(constant, function)), true;
  }
  if (proto.input_size() != 2) return false;
  const OnnxConstant a = node.constant(0), b = node.constant(1);
  const Binary function = binary_function(node.type(), a.whole && b.whole);
  if (function) node.output(combine(node, a, b, function));
  return function != nullptr;
}

}  // namespace robusta
