// The exact softmax: sums in double, column by column.

#include "layers/kit/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace robusta {
namespace {

/// body(first element of a column): column elements lie `view.inner` apart.
template <typename Body>
void for_columns(const AxisView& view, const Body& body) {
  parallel_for(view.positions(), (1 << 12) / (view.classes + 1) + 1,
               [&](int64_t p) { body(p / view.inner * view.classes * view.inner + p % view.inner); });
}

}  // namespace

template <typename T>
void softmax_exact(const AxisView& view, const T* x, T* y) {
  for_columns(view, [&](int64_t first) {
    const int64_t end = first + view.classes * view.inner;
    T largest = x[first];
    for (int64_t i = first; i < end; i += view.inner) largest = std::max(largest, x[i]);
    double sum = 0;
    for (int64_t i = first; i < end; i += view.inner) sum += y[i] = std::exp(x[i] - largest);
    for (int64_t i = first; i < end; i += view.inner) y[i] = static_cast<T>(y[i] / sum);
  });
}

template <typename T>
void softmax_exact_backward(const AxisView& view, const T* y, const T* dy, T* dx, bool add) {
  for_columns(view, [&](int64_t first) {
    const int64_t end = first + view.classes * view.inner;
    double dot = 0;
    for (int64_t i = first; i < end; i += view.inner) dot += static_cast<double>(y[i]) * dy[i];
    for (int64_t i = first; i < end; i += view.inner) {
      dx[i] = static_cast<T>(y[i] * (dy[i] - dot)) + (add ? dx[i] : T{0});
    }
  });
}

template void softmax_exact(const AxisView&, const float*, float*);
template void softmax_exact(const AxisView&, const double*, double*);
template void softmax_exact_backward(const AxisView&, const float*, const float*, float*, bool);
template void softmax_exact_backward(const AxisView&, const double*, const double*, double*, bool);

}  // namespace robusta
