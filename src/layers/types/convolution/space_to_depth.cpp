// When a convolution is folded by space to depth, and into what.

#include "layers/types/convolution/space_to_depth_gpu.h"

namespace robusta {
namespace {

constexpr int64_t kChannelsAtOnce = 8;  // of cuDNN's kernels for 16 bits

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t products(const ConvolutionGeometry& g) {
  return divided_up(g.channels, kChannelsAtOnce) * kChannelsAtOnce * taps(g.axes);
}

}  // namespace

std::optional<SpaceToDepth> SpaceToDepth::of(const ConvolutionGeometry& plain) {
  if (plain.axes.size() != 2 || plain.group != 1) return std::nullopt;
  SpaceToDepth how{plain, plain};
  int64_t pixels = 1;
  for (WindowAxis& axis : how.folded.axes) {
    if (axis.stride < 2 || axis.dilation != 1) return std::nullopt;
    pixels *= axis.stride;
    const int64_t kernel = divided_up(axis.kernel, axis.stride);
    axis = {.in = axis.out + kernel - 1, .out = axis.out, .kernel = kernel};
  }
  how.folded.channels = divided_up(plain.channels * pixels, kChannelsAtOnce) * kChannelsAtOnce;
  if (products(how.folded) >= products(plain)) return std::nullopt;
  return how;
}

}  // namespace robusta
