/// Problems for the passes of layers/backends/amx/, which take bf16 with channels last.
#pragma once

#include <cmath>
#include <vector>

#include "base/half.h"
#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::test {

/// Two images of so many channels; windows fit as often as they do.
inline ConvolutionGeometry image_geometry(int64_t channels, const WindowAxis& y, const WindowAxis& x,
                                          int64_t outputs = 1) {
  ConvolutionGeometry geometry;
  geometry.batch = 2;
  geometry.channels = channels;
  geometry.num_output = outputs;
  geometry.axes = {y, x};
  for (WindowAxis& axis : geometry.axes) axis.out = (axis.padded_in() - axis.extent()) / axis.stride + 1;
  return geometry;
}

inline ConvolutionGeometry in_groups(ConvolutionGeometry geometry, int64_t group) {
  geometry.group = group;
  return geometry;
}

/// With a bias.
inline onednn::ConvolutionProblem half_problem(const ConvolutionGeometry& geometry) {
  onednn::ConvolutionProblem problem;
  problem.geometry = geometry;
  problem.type = DType::kBF16;
  problem.bias = true;
  const auto desc = [&](int64_t channels, int64_t WindowAxis::*extent) {
    return onednn::channels_last_desc({geometry.batch, channels, geometry.axes[0].*extent, geometry.axes[1].*extent},
                                      DType::kBF16);
  };
  problem.src = desc(geometry.channels, &WindowAxis::in);
  problem.dst = desc(geometry.num_output, &WindowAxis::out);
  return problem;
}

/// Between -1 and 1, as bf16.
inline std::vector<uint16_t> half_numbers(int64_t count, float seed) {
  std::vector<uint16_t> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = to_bf16(std::sin(seed + 0.7f * static_cast<float>(i)));
  return all;
}

}  // namespace robusta::test
