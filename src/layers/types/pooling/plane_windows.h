/// The windows of a pooling layer over one plane, for reference kernels: one loop per axis, missing axes counted as one
/// place wide.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layers/types/pooling/pooling.h"

namespace robusta {

class PlaneWindows {
 public:
  /// The inputs begin..end-1 that an output sees along an axis, and the length that AVE divides by.
  struct Span {
    int64_t begin, end, length;
  };
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
    for (int64_t i = window.d.begin; i < window.d.end; ++i) {
      for (int64_t j = window.h.begin; j < window.h.end; ++j) {
        for (int64_t k = window.w.begin; k < window.w.end; ++k) body((i * axes_[1].in + j) * axes_[2].in + k);
      }
    }
  }

 private:
  Span span(int a, int64_t o) const {
    const WindowAxis& axis = axes_[a];
    const int64_t first = o * axis.stride - axis.pad;
    const int64_t last = std::min(first + axis.kernel, axis.in + axis.pad_behind());
    const int64_t begin = std::max<int64_t>(first, 0), end = std::min(last, axis.in);
    return {begin, end, counts_padding_ ? last - first : end - begin};
  }

  bool counts_padding_;
  WindowAxis axes_[3];
};

}  // namespace robusta
