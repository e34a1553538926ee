// The reference kernel of Pooling: one loop per axis, missing axes counted as one place wide.
//
//   MAX  y = the largest x of the window     dx = the sum of dy over the windows whose first largest x this is
//   AVE  y = the sum of the window / area    dx = the sum of dy / area over the windows that hold this x
//
// Backward goes window by window and adds to what it sees, where the fast kernels go pixel by pixel and gather.

#include <algorithm>
#include <cfloat>

#include "base/parallel.h"
#include "layers/kit/kernel.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {
namespace {

/// The inputs begin..end-1 that output `o` sees along an axis, and the length that AVE divides by.
struct Span {
  int64_t begin, end, length;
};

Span span_of(const WindowAxis& axis, int64_t o, bool counts_padding) {
  const int64_t first = o * axis.stride - axis.pad;
  const int64_t last = std::min(first + axis.kernel, axis.in + axis.pad);
  const int64_t begin = std::max<int64_t>(first, 0), end = std::min(last, axis.in);
  return {begin, end, counts_padding ? last - first : end - begin};
}

template <typename T>
class PoolingReference : public Kernel {
 public:
  explicit PoolingReference(const KernelRequest& request) {
    const auto& layer = request.layer<PoolingLayer>();
    is_max_ = layer.is_max();
    counts_padding_ = layer.counts_padding();
    planes_ = layer.batch() * layer.channels();
    std::copy(layer.axes().begin(), layer.axes().end(), axes_ + 3 - layer.axes().size());
    in_ = elements_in(axes_);
    out_ = elements_out(axes_);
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;  // of the index top
    if (is_max_ && request.backward) booking_.saved_bytes = static_cast<size_t>(planes_ * out_) * sizeof(int64_t);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    T* indices = run.tops.size() > 1 ? run.tops[1].as<T>() : nullptr;
    int64_t* saved = static_cast<int64_t*>(run.saved);
    for_planes([=, this](int64_t plane) {
      const T* image = x + plane * in_;
      int64_t at = plane * out_;
      for_windows([&](const Span& d, const Span& h, const Span& w) {
        if (is_max_) {
          const int64_t best = largest(image, d, h, w);
          y[at] = best < 0 ? T{-FLT_MAX} : image[best];
          if (indices) indices[at] = static_cast<T>(best);
          if (saved) saved[at] = best;
        } else {
          y[at] = static_cast<T>(sum(image, d, h, w) / area(d, h, w));
        }
        ++at;
      });
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    T* dx = run.bottom_diffs[0].as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    const int64_t* saved = static_cast<const int64_t*>(run.saved);
    for_planes([=, this](int64_t plane) {
      T* image = dx + plane * in_;
      std::fill(image, image + in_, T{0});
      if (!dy) return;
      int64_t at = plane * out_;
      for_windows([&](const Span& d, const Span& h, const Span& w) {
        if (is_max_) {
          if (saved[at] >= 0) image[saved[at]] += dy[at];
        } else {
          const T share = dy[at] / static_cast<T>(area(d, h, w));
          for_pixels(d, h, w, [&](int64_t pixel) { image[pixel] += share; });
        }
        ++at;
      });
    });
  }

 private:
  template <typename Body>
  void for_planes(const Body& body) const {
    parallel_for(planes_, 1 + (1 << 14) / in_, body);
  }

  template <typename Body>
  void for_windows(const Body& body) const {
    for (int64_t d = 0; d < axes_[0].out; ++d) {
      for (int64_t h = 0; h < axes_[1].out; ++h) {
        for (int64_t w = 0; w < axes_[2].out; ++w) {
          body(span_of(axes_[0], d, counts_padding_), span_of(axes_[1], h, counts_padding_),
               span_of(axes_[2], w, counts_padding_));
        }
      }
    }
  }

  template <typename Body>
  void for_pixels(const Span& d, const Span& h, const Span& w, const Body& body) const {
    for (int64_t i = d.begin; i < d.end; ++i) {
      for (int64_t j = h.begin; j < h.end; ++j) {
        for (int64_t k = w.begin; k < w.end; ++k) body((i * axes_[1].in + j) * axes_[2].in + k);
      }
    }
  }

  /// The first of the largest pixels, -1 when none is above -FLT_MAX.
  int64_t largest(const T* image, const Span& d, const Span& h, const Span& w) const {
    int64_t best = -1;
    T value = T{-FLT_MAX};
    for_pixels(d, h, w, [&](int64_t pixel) {
      if (image[pixel] > value) best = pixel, value = image[pixel];
    });
    return best;
  }

  double sum(const T* image, const Span& d, const Span& h, const Span& w) const {
    double total = 0;
    for_pixels(d, h, w, [&](int64_t pixel) { total += image[pixel]; });
    return total;
  }

  static double area(const Span& d, const Span& h, const Span& w) {
    return static_cast<double>(d.length * h.length * w.length);
  }

  bool is_max_, counts_padding_;
  int64_t planes_, in_, out_;
  WindowAxis axes_[3];
};

}  // namespace

ROBUSTA_REGISTER_REFERENCE("Pooling", PoolingReference);

}  // namespace robusta
