/// The windows of a pooling layer over one plane, for reference kernels and for those of GPUs with dilation: one loop
/// per axis, missing axes counted as one place wide.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/half.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {

/// The inputs begin, begin + step, ... below `end` that an output sees along an axis, and the length that AVE divides
/// by.
struct PoolTaps {
  int64_t begin, end, step, length;

  /// Of output o. `counts_padding`: as PoolingLayer says.
  ROBUSTA_HOST_DEVICE static PoolTaps of(const WindowAxis& axis, int64_t o, bool counts_padding) {
    const int64_t first = o * axis.stride - axis.pad, step = axis.dilation;
    const int64_t padded_end = axis.in + axis.pad + axis.more_pad_behind, window_end = first + step * axis.kernel;
    const int64_t last = window_end < padded_end ? window_end : padded_end;
    const int64_t begin = first >= 0 ? first : first + (step - 1 - first) / step * step;
    const int64_t end = last < axis.in ? last : axis.in;
    const int64_t taps = ((counts_padding ? last - first : end - begin) + step - 1) / step;
    // Dilated windows may miss the image, whose average is 0.
    return {begin, end, step, step > 1 && taps < 1 ? 1 : taps};
  }
};

class PlaneWindows {
 public:
  using Span = PoolTaps;
  struct Window {
    Span d, h, w;
    double area() const { return static_cast<double>(d.length * h.length * w.length); }
  };

  explicit PlaneWindows(const PoolingLayer& layer) : counts_padding_(layer.counts_padding()) {
    std::copy(layer.axes().begin(), layer.axes().end(), axes_ + 3 - layer.axes().size());
  }
  int64_t in() const { return elements_in(axes_); }
  int64_t out() const { return elements_out(axes_); }

  /// body(window) for each output, in C order.
  template <typename Body>
  void for_windows(const Body& body) const {
    for (int64_t d = 0; d < axes_[0].out; ++d) {
      for (int64_t h = 0; h < axes_[1].out; ++h) {
        for (int64_t w = 0; w < axes_[2].out; ++w) body(Window{span(0, d), span(1, h), span(2, w)});
      }
    }
  }

  /// body(place in the plane) for each pixel of the window that lies in the image, in C order.
  template <typename Body>
  void for_pixels(const Window& window, const Body& body) const {
    for (int64_t i = window.d.begin; i < window.d.end; i += window.d.step) {
      for (int64_t j = window.h.begin; j < window.h.end; j += window.h.step) {
        for (int64_t k = window.w.begin; k < window.w.end; k += window.w.step) {
          body((i * axes_[1].in + j) * axes_[2].in + k);
        }
      }
    }
  }

 private:
  Span span(int a, int64_t o) const { return PoolTaps::of(axes_[a], o, counts_padding_); }

  bool counts_padding_;
  WindowAxis axes_[3];
};

}  // namespace robusta
