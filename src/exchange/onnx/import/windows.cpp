// The attributes of windows, and auto_pad, which asks for as much padding as gives ceil(extent / stride) outputs.

#include "exchange/onnx/import/windows.h"

#include <algorithm>

#include "base/str.h"

namespace robusta {
namespace {

void require_all(const ImportNode& node, const char* what, const std::vector<int64_t>& numbers, size_t count,
                 int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const bool fine = std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n >= least && n <= kMost; });
  if (numbers.size() == count && fine) return;
  std::string text;
  for (const int64_t number : numbers) text += str(' ', number);
  node.contradict(str(what, " is", text, " where ", count, " numbers of at least ", least, " are wanted"));
}

void pad_automatically(const ImportNode& node, const Shape& bottom, OnnxWindows& windows) {
  const std::string rule = node.text("auto_pad", "NOTSET");
  if (rule == "NOTSET" || rule == "VALID" || rule.empty()) return;
  if (rule != "SAME_UPPER" && rule != "SAME_LOWER") node.contradict(str("auto_pad is \"", rule, "\""));
  for (size_t axis = 0; axis < windows.kernel.size(); ++axis) {
    const int64_t in = bottom[static_cast<int>(axis) + 2], stride = windows.stride[axis];
    const int64_t extent = (windows.kernel[axis] - 1) * windows.dilation[axis] + 1;
    const int64_t pads = std::max<int64_t>(((in + stride - 1) / stride - 1) * stride + extent - in, 0);
    windows.before[axis] = rule == "SAME_UPPER" ? pads / 2 : pads - pads / 2;
    windows.behind[axis] = pads - windows.before[axis];
  }
}

}  // namespace

OnnxWindows read_windows(const ImportNode& node, const Shape& bottom, std::vector<int64_t> kernel) {
  if (bottom.axes() < 3) node.contradict(str("its input has shape ", bottom.str()));
  const size_t axes = static_cast<size_t>(bottom.axes()) - 2;
  OnnxWindows windows;
  windows.kernel = node.integers("kernel_shape", kernel);
  windows.stride = node.integers("strides", std::vector<int64_t>(axes, 1));
  windows.dilation = node.integers("dilations", std::vector<int64_t>(axes, 1));
  const std::vector<int64_t> pads = node.integers("pads", std::vector<int64_t>(2 * axes, 0));
  require_all(node, "kernel_shape", windows.kernel, axes, 1);
  require_all(node, "strides", windows.stride, axes, 1);
  require_all(node, "dilations", windows.dilation, axes, 1);
  require_all(node, "pads", pads, 2 * axes, 0);
  windows.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(axes));
  windows.behind.assign(pads.begin() + static_cast<int64_t>(axes), pads.end());
  pad_automatically(node, bottom, windows);
  return windows;
}

std::string pad_apart(ImportNode& node, const std::string& bottom, OnnxWindows& windows, float value) {
  if (windows.symmetric()) return bottom;
  const std::string padded = node.layer("Pad", {bottom}, [&](caffe::LayerParameter& param) {
    auto& p = *param.mutable_pad_param();
    for (int i = 0; i < 4; ++i) p.add_paddings(0);
    for (size_t axis = 0; axis < windows.before.size(); ++axis) {
      p.add_paddings(static_cast<uint32_t>(windows.before[axis]));
      p.add_paddings(static_cast<uint32_t>(windows.behind[axis]));
    }
    if (value != 0) p.set_constant_values(value);
  });
  std::fill(windows.before.begin(), windows.before.end(), 0);
  windows.behind = windows.before;
  return padded;
}

void write_each(const std::vector<int64_t>& numbers, uint32_t standard, const std::function<void(uint32_t)>& add) {
  const bool same = std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n == numbers[0]; });
  if (same && numbers[0] == standard) return;
  for (size_t i = 0; i < (same ? 1 : numbers.size()); ++i) add(static_cast<uint32_t>(numbers[i]));
}

}  // namespace robusta
