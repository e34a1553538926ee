// Operators that move elements and compute none: Reshape and its like, Transpose, Concat, Slice, Split, Expand, Gather.

#include <algorithm>
#include <numeric>

#include "base/str.h"
#include "exchange/onnx/import/node.h"

namespace robusta {
namespace {

/// Of a blob of Caffe.
constexpr size_t kMostAxes = 32;

Shape reshape_by_numbers(const ImportNode& node, const Shape& from, std::vector<int64_t> dims) {
  if (dims.size() > kMostAxes) node.contradict(str("it makes ", dims.size(), " axes"));
  int64_t known = 1;
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && node.integer("allowzero", 0) == 0) {
      if (static_cast<int>(i) >= from.axes())
        node.contradict(str("dimension ", i, " is that of an axis that ", from.str(), " lacks"));
      dims[i] = from[static_cast<int>(i)];
    }
    if (dims[i] == -1 && open < 0) {
      open = static_cast<int>(i);
    } else if (dims[i] < 0) {
      node.contradict(str("dimension ", i, " is ", dims[i]));
    } else {
      known = product_or_most(known, dims[i]);
    }
  }
  if (open >= 0) dims[static_cast<size_t>(open)] = known == 0 ? 0 : from.count() / known;
  const Shape to(dims);
  check_extents(to);
  if (to.count() != from.count()) node.contradict(str("shape ", from.str(), " cannot become ", to.str()));
  return to;
}

Shape squeezed(const ImportNode& node, const Shape& from, const std::vector<int64_t>& axes) {
  std::vector<bool> leaves(static_cast<size_t>(from.axes()), false);
  for (int axis = 0; axis < from.axes() && axes.empty(); ++axis) leaves[static_cast<size_t>(axis)] = from[axis] == 1;
  for (const int64_t given : axes) {
    const int axis = node.axis_of(given, from.axes());
    if (from[axis] != 1) node.contradict(str("axis ", axis, " of ", from.str(), " has more than one entry"));
    leaves[static_cast<size_t>(axis)] = true;
  }
  std::vector<int64_t> dims;
  for (int axis = 0; axis < from.axes(); ++axis) {
    if (!leaves[static_cast<size_t>(axis)]) dims.push_back(from[axis]);
  }
  return Shape(dims);
}

Shape unsqueezed(const ImportNode& node, const Shape& from, const std::vector<int64_t>& axes) {
  if (axes.size() > kMostAxes) node.contradict(str(axes.size(), " axes are added"));
  const int count = from.axes() + static_cast<int>(axes.size());
  std::vector<bool> added(static_cast<size_t>(count), false);
  for (const int64_t axis : axes) added[static_cast<size_t>(node.axis_of(axis, count))] = true;
  if (std::count(added.begin(), added.end(), true) != static_cast<int64_t>(axes.size()))
    node.contradict("an axis is added twice");
  std::vector<int64_t> dims;
  int next = 0;
  for (const bool is_new : added) dims.push_back(is_new ? 1 : from[next++]);
  return Shape(dims);
}

void emit_reshaping(ImportNode& node) {
  const Shape to = reshaped_shape(node, node.shape(0));
  node.output(node.reshape(node.blob(0), to));
}

void emit_transpose(ImportNode& node) {
  node.output(node.permute(node.blob(0), transpose_order(node, node.shape(0).axes())));
}

void emit_concat(ImportNode& node) {
  std::vector<std::string> bottoms;
  for (int input = 0; input < node.proto().input_size(); ++input) {
    if (node.shape(input).count() > 0) bottoms.push_back(node.blob(input));
  }
  const int axis = node.axis_of(node.integer("axis", 1), node.shape(0).axes());
  node.output(node.layer("Concat", bottoms,
                         [&](caffe::LayerParameter& param) { param.mutable_concat_param()->set_axis(axis); }));
}

std::vector<int64_t> split_sizes(const ImportNode& node, int64_t extent) {
  std::vector<int64_t> sizes = node.integers_or_input("split", 1);
  const int64_t parts = node.proto().output_size();
  if (sizes.empty() && parts > 0) {
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t begin = 0; begin < extent; begin += each) sizes.push_back(std::min(each, extent - begin));
  }
  const bool fits = static_cast<int64_t>(sizes.size()) == parts &&
                    std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size > 0 && size <= extent; });
  if (!fits || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != extent)
    node.contradict(str("it does not split ", extent, " entries into ", parts, " parts"));
  return sizes;
}

void emit_split(ImportNode& node) {
  const Shape& from = node.shape(0);
  const int axis = node.axis_of(node.integer("axis", 0), from.axes());
  const std::vector<int64_t> sizes = split_sizes(node, from[axis]);
  if (sizes.size() == 1) return node.pass_on(0);
  caffe::LayerParameter param = node.new_layer("Slice", {node.blob(0)});
  param.mutable_slice_param()->set_axis(axis);
  param.clear_top();
  int64_t end = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) param.mutable_slice_param()->add_slice_point(static_cast<uint32_t>(end));
    param.add_top(i == 0 ? param.name() : unused_name(node.graph(), node.proto().output(static_cast<int>(i))));
    end += sizes[i];
  }
  node.append(param);
  for (int i = 0; i < param.top_size(); ++i) node.output(param.top(i), i);
}

/// Every step-th row or column: a maximum over windows of one pixel.
std::string strided(ImportNode& node, const std::string& bottom, const std::vector<SliceRange>& ranges) {
  return node.layer("Pooling", {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_pooling_param();
    p.set_kernel_size(1);
    p.set_stride_h(static_cast<uint32_t>(ranges[2].step));
    p.set_stride_w(static_cast<uint32_t>(ranges[3].step));
  });
}

constexpr int64_t kMostStep = 1 << 20;

void emit_slice(ImportNode& node) {
  const Shape from = node.shape(0);
  const std::vector<SliceRange> ranges = slice_ranges(node, from);
  std::string blob = node.blob(0);
  bool strides = false;
  for (int axis = 0; axis < from.axes(); ++axis) {
    const SliceRange& range = ranges[static_cast<size_t>(axis)];
    if (range.count == 0) node.refuse("inputs starts and ends", "nothing is left", "leave the node out");
    const bool small = range.step >= 1 && range.step <= kMostStep;
    const bool can_stride = range.step == 1 || (small && from.axes() == 4 && axis >= 2);
    if (!can_stride) {
      node.refuse("input steps", str("every ", range.step, "th entry of axis ", axis, " is taken"),
                  "steps other than 1 are taken along height and width alone");
    }
    strides = strides || range.step > 1;
    // Up to the last entry that is taken: pooling then ends there, however it rounds.
    blob = node.slice(blob, axis, range.begin, range.begin + (range.count - 1) * range.step + 1);
  }
  node.output(strides ? strided(node, blob, ranges) : blob);
}

void emit_gather(ImportNode& node) {
  const Shape& from = node.shape(0);
  const int axis = node.axis_of(node.integer("axis", 0), from.axes());
  const std::vector<int64_t> indices = node.whole_numbers(1);
  const Shape& of_indices = node.shape(1);
  std::vector<std::string> parts;
  constexpr size_t kMostParts = 64;
  if (indices.empty() || indices.size() > kMostParts || of_indices.axes() > 1) {
    node.refuse("input indices", str("it has shape ", of_indices.str()),
                str("up to ", kMostParts, " indices in a row become slices: use slices in the model"));
  }
  const std::string blob = node.blob(0);
  for (const int64_t given : indices) {
    const int64_t index = given < 0 ? given + from[axis] : given;
    if (index < 0 || index >= from[axis]) node.contradict(str("index ", given, " of ", from[axis]));
    parts.push_back(node.slice(blob, axis, index, index + 1));
  }
  std::string all = parts[0];
  if (parts.size() > 1) {
    all = node.layer("Concat", parts,
                     [&](caffe::LayerParameter& param) { param.mutable_concat_param()->set_axis(axis); });
  }
  if (of_indices.axes() == 0) {
    std::vector<int64_t> dims = from.dims();
    dims.erase(dims.begin() + axis);
    all = node.reshape(all, Shape(dims));
  }
  node.output(all);
}

void emit_expand(ImportNode& node) {
  const Shape given(node.whole_numbers(1));
  check_extents(given);
  Shape to;
  if (!broadcast_shape(node.shape(0), given, to)) node.contradict("its shapes do not fit together");
  node.output(node.broadcast(node.blob(0), to));
}

void emit_tile(ImportNode& node) {
  const Shape from = node.shape(0);
  const std::vector<int64_t> repeats = node.whole_numbers(1);
  if (static_cast<int>(repeats.size()) != from.axes()) node.contradict("input repeats has another length");
  std::string blob = node.blob(0);
  for (int axis = 0; axis < from.axes(); ++axis) {
    const int64_t times = repeats[static_cast<size_t>(axis)];
    if (times < 1 || times > std::numeric_limits<int32_t>::max())
      node.contradict(str("an axis is repeated ", times, " times"));
    if (times == 1) continue;
    blob = node.layer("Tile", {blob}, [&](caffe::LayerParameter& param) {
      param.mutable_tile_param()->set_axis(axis);
      param.mutable_tile_param()->set_tiles(static_cast<int32_t>(times));
    });
  }
  node.output(blob);
}

void emit_shape(ImportNode& node) {
  const Shape& from = node.shape(0);
  const int64_t axes = from.axes();
  const auto bounded = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + axes : at, 0, axes); };
  const int64_t begin = bounded(node.integer("start", 0)), end = bounded(node.integer("end", axes));
  OnnxConstant constant{Shape{std::max<int64_t>(end - begin, 0)}, {}, true};
  for (int64_t axis = begin; axis < end; ++axis)
    constant.values.push_back(static_cast<double>(from[static_cast<int>(axis)]));
  node.output(std::move(constant));
}

void emit_identity(ImportNode& node) { node.pass_on(0); }

void emit_cast(ImportNode& node) {
  using Proto = onnx::TensorProto;
  const int64_t to = node.integer("to", Proto::FLOAT);
  if (to != Proto::FLOAT && to != Proto::DOUBLE && to != Proto::FLOAT16 && to != Proto::BFLOAT16)
    node.refuse("attribute to", "blobs of Caffe are floats", "leave the cast out, or compute what follows elsewhere");
  node.pass_on(0);
}

void emit_pad(ImportNode& node) {
  const Shape& from = node.shape(0);
  const std::vector<int64_t> pads = node.integers_or_input("pads", 1);
  const bool zero = std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  if (zero) return node.pass_on(0);
  if (static_cast<int>(pads.size()) != 2 * from.axes()) node.contradict("pads are not two for each axis");
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant") node.refuse("attribute mode", str("it is \"", mode, "\""), "pad with a constant");
  double value = node.number("value", 0);
  if (node.has(2)) {
    const OnnxConstant given = node.constant(2);
    if (!given.values.empty()) value = given.values[0];
  }
  node.output(node.layer("Pad", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    for (int axis = 0; axis < from.axes(); ++axis) {
      for (const int side : {axis, axis + from.axes()}) {
        const int64_t pad = pads[static_cast<size_t>(side)];
        if (pad < 0 || pad > std::numeric_limits<int32_t>::max())
          node.refuse("pads", str("one is ", pad), "pads that cut off are slices: use these");
        param.mutable_pad_param()->add_paddings(static_cast<uint32_t>(pad));
      }
    }
    param.mutable_pad_param()->set_constant_values(static_cast<float>(value));
  }));
}

[[maybe_unused]] const bool registered_shape_operators =
    register_onnx_operator("Reshape", emit_reshaping) && register_onnx_operator("Flatten", emit_reshaping) &&
    register_onnx_operator("Squeeze", emit_reshaping) && register_onnx_operator("Unsqueeze", emit_reshaping) &&
    register_onnx_operator("Transpose", emit_transpose) && register_onnx_operator("Concat", emit_concat) &&
    register_onnx_operator("Split", emit_split) && register_onnx_operator("Slice", emit_slice) &&
    register_onnx_operator("Gather", emit_gather) && register_onnx_operator("Expand", emit_expand) &&
    register_onnx_operator("Tile", emit_tile) && register_onnx_operator("Shape", emit_shape) &&
    register_onnx_operator("Identity", emit_identity) && register_onnx_operator("Dropout", emit_identity) &&
    register_onnx_operator("Cast", emit_cast) && register_onnx_operator("Pad", emit_pad);

}  // namespace

Shape reshaped_shape(const ImportNode& node, const Shape& from) {
  if (node.type() == "Reshape") return reshape_by_numbers(node, from, node.whole_numbers(1));
  if (node.type() == "Squeeze") return squeezed(node, from, node.integers_or_input("axes", 1));
  if (node.type() == "Unsqueeze") return unsqueezed(node, from, node.integers_or_input("axes", 1));
  const int64_t given = node.integer("axis", 1);
  const int axis = given == from.axes() ? from.axes() : node.axis_of(given, from.axes());
  return Shape{from.count(0, axis), from.count(axis)};
}

std::vector<int> transpose_order(const ImportNode& node, int axes) {
  std::vector<int> order(static_cast<size_t>(axes));
  std::iota(order.rbegin(), order.rend(), 0);
  if (!node.attribute("perm")) return order;
  const std::vector<int64_t> given = node.integers("perm");
  order.clear();
  for (const int64_t axis : given) order.push_back(node.axis_of(axis, axes));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(static_cast<size_t>(axes));
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) node.contradict("perm does not name every axis once");
  return order;
}

std::vector<SliceRange> slice_ranges(const ImportNode& node, const Shape& shape) {
  const std::vector<int64_t> starts = node.integers_or_input("starts", 1), ends = node.integers_or_input("ends", 2);
  std::vector<int64_t> axes = node.integers_or_input("axes", 3);
  const std::vector<int64_t> steps = node.has(4) ? node.whole_numbers(4) : std::vector<int64_t>(starts.size(), 1);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.contradict("starts, ends, axes and steps differ in number");
  std::vector<SliceRange> ranges(static_cast<size_t>(shape.axes()));
  for (int axis = 0; axis < shape.axes(); ++axis) ranges[static_cast<size_t>(axis)].count = shape[axis];
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = node.axis_of(axes[i], shape.axes());
    const int64_t extent = shape[axis], step = steps[i], floor = step > 0 ? 0 : -1,
                  ceiling = step > 0 ? extent : extent - 1;
    if (step == 0 || step < -extent - 1) node.contradict(str("step ", step));
    const auto bounded = [&](int64_t at) { return std::clamp(at < 0 ? at + extent : at, floor, ceiling); };
    const int64_t begin = bounded(starts[i]), end = bounded(ends[i]);
    const int64_t room = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
    const int64_t count = room <= 0 ? 0 : (room - 1) / stride + 1;
    ranges[static_cast<size_t>(axis)] = {begin, count > 1 ? step : 1, count};
  }
  return ranges;
}

}  // namespace robusta
