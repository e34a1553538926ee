// Where samples lie, and the reference kernel. Backward goes over the pixels of the bottom and adds up what the top has
// of each.

#include "layers/kit/sampling.h"

#include "base/parallel.h"
#include "base/str.h"
#include "layers/kit/booking.h"

namespace robusta {

SampledAxis linear_axis(SampledBy by, int64_t in, int64_t first, int64_t seen, int64_t out) {
  SampledAxis axis{.in = in, .out = out, .first = first, .seen = seen, .linear = true};
  if (by == SampledBy::kCorners) {
    if (out > 1) axis.step = seen - 1, axis.unit = out - 1;
  } else if (by == SampledBy::kEdges) {
    axis.step = seen, axis.unit = out;
  } else {
    // (to + 1/2) seen / out - 1/2
    axis.step = 2 * seen, axis.shift = seen - out, axis.unit = 2 * out;
  }
  return axis;
}

SampledAxis nearest_axis(SampledBy by, int64_t in, int64_t out) {
  SampledAxis axis{.in = in, .out = out, .seen = in};
  if (by == SampledBy::kCorners) {
    // The integer next to to (in - 1) / (out - 1)
    if (out > 1) axis.step = 2 * (in - 1), axis.shift = out - 1, axis.unit = 2 * (out - 1);
  } else if (by == SampledBy::kEdges) {
    axis.step = in, axis.unit = out;
  } else {
    // (to + 1/2) in / out
    axis.step = 2 * in, axis.shift = in, axis.unit = 2 * out;
  }
  return axis;
}

void check_sampled_extent(int64_t extent, const char* what, const std::string& field) {
  constexpr int64_t kMost = int64_t{1} << 30;  // so that products of two stay within 64 bits
  if (extent >= 1 && extent <= kMost) return;
  throw Error(ErrorKind::kConfig, str("the ", what, " would be ", extent), str("it is 1 to ", kMost)).in_field(field);
}

Shape SamplingLayer::sample_planes(const Shape& bottom, const SampledAxis& h, const SampledAxis& w) {
  sampling_ = {.outer = bottom.count(0, 2), .inner = 1, .h = h, .w = w, .of_planes = true};
  Shape top{bottom[0], bottom[1], h.out, w.out};
  check_extents(top);
  return top;
}

namespace {

template <typename T>
class SamplingReference : public Kernel {
 public:
  explicit SamplingReference(const KernelRequest& request) : s_(request.layer<SamplingLayer>().sampling()) {
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.repeatable = true;
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    parallel_for(s_.outer * s_.h.out, 1 + (1 << 12) / (s_.w.out * s_.inner), [&](int64_t row) {
      const AxisSample h = s_.h.sample(row % s_.h.out);
      const T *upper = row_of(x, row / s_.h.out, h.lower), *lower = row_of(x, row / s_.h.out, h.upper);
      T* to = y + row * s_.w.out * s_.inner;
      for (int64_t j = 0; j < s_.w.out; ++j) {
        const AxisSample w = s_.w.sample(j);
        const int64_t left = w.lower * s_.inner, right = w.upper * s_.inner;
        for (int64_t k = 0; k < s_.inner; ++k) {
          const T above = mixed(upper[left + k], upper[right + k], w.share);
          const T below = mixed(lower[left + k], lower[right + k], w.share);
          *to++ = mixed(above, below, h.share);
        }
      }
    });
  }

  void backward(const KernelRun& run) override {
    T* dx = run.bottom_diffs[0].as<T>();
    if (!dx) return;
    const T* dy = run.top_diffs[0].as<T>();
    parallel_for(s_.outer * s_.h.in, 1 + (1 << 10) / (s_.w.in * s_.inner), [&](int64_t row) {
      const int64_t i = row % s_.h.in;
      for (int64_t j = 0; j < s_.w.in; ++j) {
        for (int64_t k = 0; k < s_.inner; ++k) {
          dx[(row * s_.w.in + j) * s_.inner + k] = static_cast<T>(sum(dy, row / s_.h.in, i, j, k));
        }
      }
    });
  }

 private:
  const T* row_of(const T* x, int64_t outer, int64_t row) const {
    return x + (outer * s_.h.in + row) * s_.w.in * s_.inner;
  }
  /// Without a share b may be infinite.
  static T mixed(T a, T b, double share) {
    return share == 0 ? a : static_cast<T>((1 - share) * static_cast<double>(a) + share * static_cast<double>(b));
  }

  double sum(const T* dy, int64_t outer, int64_t i, int64_t j, int64_t k) const {
    const AxisRange rows = s_.h.users(i), columns = s_.w.users(j);
    double total = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const double share = s_.h.share(i, h);
      for (int64_t w = columns.begin; share != 0 && w < columns.end; ++w) {
        const double both = share * s_.w.share(j, w);
        if (both != 0) total += both * static_cast<double>(dy[((outer * s_.h.out + h) * s_.w.out + w) * s_.inner + k]);
      }
    }
    return total;
  }

  const Sampling& s_;
};

}  // namespace

std::unique_ptr<Kernel> make_sampling_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<SamplingReference<decltype(t)>>(request);
  });
}

bool register_sampling_kernel(const std::string& type) {
  return register_kernel({type, "reference", "cpu", 0, make_sampling_reference});
}

}  // namespace robusta
