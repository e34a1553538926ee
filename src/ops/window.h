/// Windows that slide over an image of any number of axes: the geometry of convolution and pooling.
#pragma once

#include <cstdint>
#include <span>

namespace robusta {

/// One spatial axis. Output o, tap t of the window stands at input o * stride - pad + t * dilation.
struct WindowAxis {
  int64_t in = 1, out = 1;                                ///< pixels
  int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;  ///< kernel: taps; dilation 1: side by side
  int64_t more_pad_behind = 0;                            ///< than `pad`, which is before the input

  /// Inputs from the first tap to the last.
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  int64_t pad_behind() const { return pad + more_pad_behind; }
  int64_t padded_in() const { return pad + in + pad_behind(); }
  friend bool operator==(const WindowAxis&, const WindowAxis&) = default;
};

inline int64_t elements_in(std::span<const WindowAxis> axes) {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.in;
  return product;
}

inline int64_t elements_out(std::span<const WindowAxis> axes) {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.out;
  return product;
}

/// Taps of one window.
inline int64_t taps(std::span<const WindowAxis> axes) {
  int64_t product = 1;
  for (const WindowAxis& axis : axes) product *= axis.kernel;
  return product;
}

/// True when each window is one input and each input has one window: im2col would be a copy.
inline bool is_pointwise(std::span<const WindowAxis> axes) {
  for (const WindowAxis& axis : axes) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.pad != 0 || axis.more_pad_behind != 0) return false;
  }
  return true;
}

/// Kernels that keep or generate something for each place along an axis decline longer ones: planning takes time and
/// memory by the number of layers.
inline constexpr int64_t kLongestAxis = int64_t{1} << 16;

inline bool is_too_long(std::span<const WindowAxis> axes) {
  for (const WindowAxis& axis : axes) {
    if (axis.in > kLongestAxis || axis.out > kLongestAxis || axis.extent() > kLongestAxis) return true;
  }
  return false;
}

}  // namespace robusta
