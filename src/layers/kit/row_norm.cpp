// The reference kernel of layers that normalise rows: sums in double, about the first element of each row.

#include "layers/kit/row_norm.h"

#include "base/parallel.h"

namespace robusta {

void book_row_norm(const KernelRequest& request, size_t row, Booking& booking) {
  const RowNorm& norm = request.layer<RowNormLayer>().norm();
  const bool learns = norm.scales > 0 && request.backward && request.param_grads[0];
  book_reads(norm.size != RowSize::kOne || learns, false, booking);
  book_in_place(booking);
  booking.saved_bytes = static_cast<size_t>(norm.view.positions()) * row;
}

namespace {

template <typename T>
class RowNormReference : public Kernel {
 public:
  explicit RowNormReference(const KernelRequest& request) : norm_(request.layer<RowNormLayer>().norm()) {
    book_row_norm(request, sizeof(RowMoments<T>), booking_);
    // The gradients of the scale that each row adds, in an order of their own.
    booking_.backward_scratch = static_cast<size_t>(norm_.scales) * sizeof(double);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *scale = scale_of(run);
    T* y = run.tops[0].as<T>();
    auto* saved = static_cast<RowMoments<T>*>(run.saved);
    for_rows([&](int64_t row) {
      const RowMoments<T> m = saved[row] = moments(x, row);
      for_row(row, [&](int64_t i, int64_t c) { y[i] = (x[i] - m.mean) * m.inverse * factor(scale, c); });
    });
  }

  void backward(const KernelRun& run) override {
    const T* x = booking_.reads_bottoms[0] ? run.bottoms[0].as<T>() : nullptr;
    const T *dy = run.top_diffs[0].as<T>(), *scale = scale_of(run);
    const auto* saved = static_cast<const RowMoments<T>*>(run.saved);
    // Before the gradient of the bottom, which may take the place of dy.
    if (norm_.scales > 0 && run.params[0]->learns) learn(run, x, dy, saved);
    T* dx = run.bottom_diffs[0].as<T>();
    if (!dx) return;
    for_rows([&](int64_t row) {
      const RowMoments<T> m = saved[row];
      double sum = 0, sum_h = 0;
      const auto h = [&](int64_t i) { return x ? (x[i] - m.mean) * m.inverse : T{0}; };
      for_row(row, [&](int64_t i, int64_t c) {
        const double g = static_cast<double>(dy[i]) * factor(scale, c);
        sum += g, sum_h += g * h(i);
      });
      const double mean = norm_.centred ? sum / static_cast<double>(norm_.view.classes) : 0;
      for_row(row, [&](int64_t i, int64_t c) {
        dx[i] = static_cast<T>(m.inverse * (dy[i] * factor(scale, c) - mean - m.weight * h(i) * sum_h));
      });
    });
  }

 private:
  const T* scale_of(const KernelRun& run) const {
    return norm_.scales > 0 ? run.params[0]->tensor().template as<T>() : nullptr;
  }
  T factor(const T* scale, int64_t c) const { return scale ? scale[c / norm_.per_scale] : T{1}; }

  template <typename Body>
  void for_rows(const Body& body) const {
    parallel_for(norm_.view.positions(), 1 + (1 << 13) / norm_.view.classes, body);
  }

  /// body(element, class)
  template <typename Body>
  void for_row(int64_t row, const Body& body) const {
    const AxisView& view = norm_.view;
    const int64_t first = row / view.inner * view.classes * view.inner + row % view.inner;
    for (int64_t c = 0; c < view.classes; ++c) body(first + c * view.inner, c);
  }

  RowMoments<T> moments(const T* x, int64_t row) const {
    double origin = 0, sum = 0, squares = 0;
    for_row(row, [&](int64_t i, int64_t c) {
      if (c == 0 && norm_.centred) origin = x[i];
      const double from_origin = x[i] - origin;
      sum += from_origin, squares += from_origin * from_origin;
    });
    return row_moments<T>(norm_, origin, sum, squares);
  }

  void learn(const KernelRun& run, const T* x, const T* dy, const RowMoments<T>* saved) const {
    T* gradient = run.params[0]->gradient().template as<T>();
    auto* sums = static_cast<double*>(run.scratch);
    for (int64_t k = 0; k < norm_.scales; ++k) sums[k] = run.accumulate[0] ? gradient[k] : T{0};
    for (int64_t row = 0; row < norm_.view.positions(); ++row) {
      for_row(row, [&](int64_t i, int64_t c) {
        sums[c / norm_.per_scale] += static_cast<double>(dy[i]) * (x[i] - saved[row].mean) * saved[row].inverse;
      });
    }
    for (int64_t k = 0; k < norm_.scales; ++k) gradient[k] = static_cast<T>(sums[k]);
  }

  const RowNorm& norm_;
};

std::unique_ptr<Kernel> make_row_norm_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RowNormReference<decltype(t)>>(request);
  });
}

}  // namespace

bool register_row_norm_kernel(const std::string& type) {
  return register_kernel({type, "reference", "cpu", 0, make_row_norm_reference});
}

}  // namespace robusta
