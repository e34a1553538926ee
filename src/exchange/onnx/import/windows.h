/// Windows of convolutions and pooling as ONNX says them: kernel, stride, dilation and padding of each spatial axis.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exchange/onnx/import/node.h"

namespace robusta {

struct OnnxWindows {
  std::vector<int64_t> kernel, stride, dilation, before, behind;  ///< one of each for each spatial axis

  bool symmetric() const { return before == behind; }
};

/// `kernel`: where the attribute kernel_shape is absent. Throws for numbers that no window has.
OnnxWindows read_windows(const ImportNode& node, const Shape& bottom, std::vector<int64_t> kernel);

/// The bottom with the padding that is not the same on both sides, as a layer of its own; the windows then have none.
std::string pad_apart(ImportNode& node, const std::string& bottom, OnnxWindows& windows, float value);

/// Writes one number where all axes have the same, else one for each.
void write_each(const std::vector<int64_t>& numbers, uint32_t standard, const std::function<void(uint32_t)>& add);

}  // namespace robusta
