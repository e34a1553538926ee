// Pooling and reductions.
//
// Caffe rounds the number of windows up, ONNX down unless it says ceil_mode or has more padding at the end. Where that
// gives other sizes round_mode FLOOR is written, which BVLC knows since 2018.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/str.h"
#include "exchange/onnx/import/windows.h"

namespace robusta {
namespace {

int64_t windows_along(const OnnxWindows& windows, const Shape& bottom, size_t axis, bool up) {
  const int64_t in = bottom[static_cast<int>(axis) + 2], stride = windows.stride[axis];
  const int64_t extent = (windows.kernel[axis] - 1) * windows.dilation[axis] + 1;
  const int64_t room = in + windows.before[axis] + windows.behind[axis] - extent;
  if (room < 0) return 0;
  const int64_t count = (room + (up ? stride - 1 : 0)) / stride + 1;
  // The last window begins inside of the image or the padding before it.
  return up && (count - 1) * stride >= in + windows.before[axis] ? count - 1 : count;
}

void write_windows(caffe::PoolingParameter& p, const OnnxWindows& windows) {
  const auto both_same = [](const std::vector<int64_t>& n) { return n[0] == n[1]; };
  const auto at = [](const std::vector<int64_t>& n, size_t i) { return static_cast<uint32_t>(n[i]); };
  if (both_same(windows.kernel)) {
    p.set_kernel_size(at(windows.kernel, 0));
  } else {
    p.set_kernel_h(at(windows.kernel, 0));
    p.set_kernel_w(at(windows.kernel, 1));
  }
  if (!both_same(windows.stride)) {
    p.set_stride_h(at(windows.stride, 0));
    p.set_stride_w(at(windows.stride, 1));
  } else if (windows.stride[0] != 1) {
    p.set_stride(at(windows.stride, 0));
  }
  if (!both_same(windows.before)) {
    p.set_pad_h(at(windows.before, 0));
    p.set_pad_w(at(windows.before, 1));
  } else if (windows.before[0] != 0) {
    p.set_pad(at(windows.before, 0));
  }
}

std::string pooled(ImportNode& node, const std::string& bottom, const OnnxWindows& windows, bool max, bool up) {
  const Shape in = node.blob_shape(bottom);
  bool floor = false;
  for (size_t axis = 0; axis < 2; ++axis)
    floor = floor || windows_along(windows, in, axis, true) != windows_along(windows, in, axis, false);
  floor = floor && !up;
  if (floor) {
    node.warn(
        "poolings with round_mode: FLOOR: Caffes from before 2018 and the forks of that time round up all the "
        "same, and get other sizes");
  }
  return node.layer("Pooling", {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_pooling_param();
    p.set_pool(max ? caffe::PoolingParameter::MAX : caffe::PoolingParameter::AVE);
    write_windows(p, windows);
    if (floor) p.set_round_mode(caffe::PoolingParameter::FLOOR);
  });
}

/// Caffe divides by all pixels of a window, padding included. The numbers that turn that into what ONNX divides by.
std::vector<float> without_padding(const OnnxWindows& windows, const Shape& in, const Shape& out) {
  const auto pixels = [&](int axis, int64_t window, bool padding) {
    const auto i = static_cast<size_t>(axis);
    const int64_t begin = window * windows.stride[i] - windows.before[i], least = padding ? -windows.before[i] : 0;
    const int64_t end = std::min(begin + windows.kernel[i], in[axis + 2] + (padding ? windows.behind[i] : 0));
    return static_cast<float>(end - std::max(begin, least));
  };
  std::vector<float> factors;
  for (int64_t y = 0; y < out[2]; ++y) {
    for (int64_t x = 0; x < out[3]; ++x)
      factors.push_back(pixels(0, y, true) * pixels(1, x, true) / (pixels(0, y, false) * pixels(1, x, false)));
  }
  return factors;
}

OnnxWindows pooling_windows(ImportNode& node) {
  const Shape& in = node.shape(0);
  if (in.axes() != 4)
    node.refuse("input 0", str("it has shape ", in.str()),
                "poolings of batch, channels, height and width are imported");
  if (node.proto().output_size() > 1 && !node.proto().output(1).empty())
    node.refuse("output Indices", "Caffe numbers the places of a mask otherwise", "export without indices");
  OnnxWindows windows = read_windows(node, in, {});
  for (const int64_t dilation : windows.dilation) {
    if (dilation != 1)
      node.refuse("attribute dilations", "windows of BVLC's Pooling have none", "train with dilation 1");
  }
  return windows;
}

/// Padding at the end that makes as many windows as rounding up does, as `caffe export -onnx` writes it, is taken away.
bool takes_end_padding_for_rounding_up(OnnxWindows& windows, const Shape& in) {
  OnnxWindows caffe = windows;
  caffe.behind = windows.before;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (windows.behind[axis] < windows.before[axis]) return false;
    if (windows_along(caffe, in, axis, true) != windows_along(windows, in, axis, false)) return false;
  }
  windows = caffe;
  return true;
}

void emit_max_pool(ImportNode& node) {
  OnnxWindows windows = pooling_windows(node);
  const bool up = node.integer("ceil_mode", 0) != 0;
  // The padding of a maximum is nowhere the largest, and so is no part of a window.
  if (!windows.symmetric() && !up && takes_end_padding_for_rounding_up(windows, node.shape(0)))
    return node.output(pooled(node, node.blob(0), windows, true, true));
  const std::string bottom = pad_apart(node, node.blob(0), windows, -FLT_MAX);
  node.output(pooled(node, bottom, windows, true, up));
}

void emit_average_pool(ImportNode& node) {
  OnnxWindows windows = pooling_windows(node);
  const bool counts = node.integer("count_include_pad", 0) != 0, up = node.integer("ceil_mode", 0) != 0;
  // Caffe divides a window that is cut by what is left of it.
  const bool begins_inside = windows.before[0] == 0 && windows.before[1] == 0;
  if (!windows.symmetric() && begins_inside && !counts && !up &&
      takes_end_padding_for_rounding_up(windows, node.shape(0))) {
    return node.output(pooled(node, node.blob(0), windows, false, true));
  }
  if (!windows.symmetric() && !counts)
    node.refuse("attribute pads", "they differ between the two ends of an axis, and are not counted", "pad alike");
  const std::string bottom = pad_apart(node, node.blob(0), windows, 0);
  const bool pads = windows.before[0] + windows.before[1] > 0;
  const std::string means = pooled(node, bottom, windows, false, up);
  if (!pads || counts) return node.output(means);
  const Shape out = node.blob_shape(means);
  node.count_folded(out.slice(2, 4));
  node.output(node.layer("Scale", {means}, [&](caffe::LayerParameter& param) {
    param.mutable_scale_param()->set_axis(2);
    param.mutable_scale_param()->set_num_axes(2);
    add_array(param, out.slice(2, 4), without_padding(windows, node.blob_shape(bottom), out));
  }));
}

std::string global_pool(ImportNode& node, bool max) {
  return node.layer("Pooling", {node.blob(0)}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_pooling_param();
    p.set_pool(max ? caffe::PoolingParameter::MAX : caffe::PoolingParameter::AVE);
    p.set_global_pooling(true);
  });
}

void emit_global_pool(ImportNode& node) {
  if (node.shape(0).axes() != 4)
    node.refuse("input 0", str("it has shape ", node.shape(0).str()), "poolings of four axes are imported");
  node.output(global_pool(node, node.type() == "GlobalMaxPool"));
}

/// Which axes are reduced: all where none is named.
std::vector<bool> reduced_axes(const ImportNode& node, int axes) {
  const std::vector<int64_t> given = node.integers_or_input("axes", 1);
  std::vector<bool> reduced(static_cast<size_t>(axes), given.empty());
  for (const int64_t axis : given) reduced[static_cast<size_t>(node.axis_of(axis, axes))] = true;
  return reduced;
}

Shape reduced_shape(const Shape& from, const std::vector<bool>& reduced, bool keeps) {
  std::vector<int64_t> dims;
  for (int axis = 0; axis < from.axes(); ++axis) {
    if (!reduced[static_cast<size_t>(axis)]) dims.push_back(from[axis]);
    if (reduced[static_cast<size_t>(axis)] && keeps) dims.push_back(1);
  }
  return Shape(dims);
}

caffe::ReductionParameter::ReductionOp reduction(const std::string& type) {
  if (type == "ReduceMean") return caffe::ReductionParameter::MEAN;
  if (type == "ReduceSum") return caffe::ReductionParameter::SUM;
  if (type == "ReduceL1") return caffe::ReductionParameter::ASUM;
  return caffe::ReductionParameter::SUMSQ;  // ReduceSumSquare, and ReduceL2 before its root
}

/// A Reduction takes the last axes: those to be reduced go there.
std::string reduce(ImportNode& node, const Shape& from, const std::vector<bool>& reduced) {
  std::vector<int> order;
  for (const bool last : {false, true}) {
    for (int axis = 0; axis < from.axes(); ++axis) {
      if (reduced[static_cast<size_t>(axis)] == last) order.push_back(axis);
    }
  }
  const int kept = static_cast<int>(std::count(reduced.begin(), reduced.end(), false));
  return node.layer("Reduction", {node.permute(node.blob(0), order)}, [&](caffe::LayerParameter& param) {
    param.mutable_reduction_param()->set_operation(reduction(node.type()));
    param.mutable_reduction_param()->set_axis(kept);
  });
}

void emit_reduction(ImportNode& node) {
  const Shape from = node.shape(0);
  const std::vector<bool> reduced = reduced_axes(node, from.axes());
  if (std::find(reduced.begin(), reduced.end(), true) == reduced.end()) return node.pass_on(0);
  const bool planes = from.axes() == 4 && reduced == std::vector<bool>{false, false, true, true};
  std::string result;
  if (planes && (node.type() == "ReduceMean" || node.type() == "ReduceMax")) {
    result = global_pool(node, node.type() == "ReduceMax");
  } else if (node.type() == "ReduceMax") {
    node.refuse("attribute axes", "the largest of other axes than height and width is taken",
                "Caffe's Reduction sums alone: transpose so that these axes are the last two");
  } else {
    result = reduce(node, from, reduced);
  }
  if (node.type() == "ReduceL2") result = node.power(result, 0.5, 1, 0);
  node.output(node.reshape(result, reduced_shape(from, reduced, node.integer("keepdims", 1) != 0)));
}

[[maybe_unused]] const bool registered_pooling_operators =
    register_onnx_operator("MaxPool", emit_max_pool) && register_onnx_operator("AveragePool", emit_average_pool) &&
    register_onnx_operator("GlobalAveragePool", emit_global_pool) &&
    register_onnx_operator("GlobalMaxPool", emit_global_pool) && register_onnx_operator("ReduceMean", emit_reduction) &&
    register_onnx_operator("ReduceMax", emit_reduction) && register_onnx_operator("ReduceSum", emit_reduction) &&
    register_onnx_operator("ReduceL1", emit_reduction) && register_onnx_operator("ReduceL2", emit_reduction) &&
    register_onnx_operator("ReduceSumSquare", emit_reduction);

}  // namespace
}  // namespace robusta
