/// Products of a matrix and a vector, and gradients of parameters, as plain loops: for the reference kernels of
/// recurrent layers. Sums are in double.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "layers/kit/kernel.h"

namespace robusta::reference {

/// The sum of a[i] * b[i * step].
template <typename T>
double dot(const T* a, const T* b, int64_t count, int64_t step = 1) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i * step];
  return sum;
}

/// y = W x + b, b null meaning 0 and W being [outputs, inputs].
template <typename T>
void affine(const T* weights, const T* bias, const T* x, int64_t outputs, int64_t inputs, T* y) {
  parallel_for(outputs, 1 + (1 << 14) / inputs, [=](int64_t o) {
    y[o] = static_cast<T>((bias ? bias[o] : T{0}) + dot(weights + o * inputs, x, inputs));
  });
}

/// The same with y added to: y += W x.
template <typename T>
void add_product(const T* weights, const T* x, int64_t outputs, int64_t inputs, T* y) {
  affine(weights, y, x, outputs, inputs, y);
}

/// x = W^T y, added to what is there if `add`.
template <typename T>
void transposed_product(const T* weights, const T* y, int64_t outputs, int64_t inputs, bool add, T* x) {
  parallel_for(inputs, 1 + (1 << 14) / outputs,
               [=](int64_t i) { x[i] = static_cast<T>((add ? x[i] : T{0}) + dot(y, weights + i, outputs, inputs)); });
}

/// The gradient of a parameter that many rows contribute to: zeros first, unless it accumulates.
template <typename T>
class ParamGradient {
 public:
  ParamGradient(const KernelRun& run, size_t param) {
    if (!run.params[param]->learns) return;
    const Tensor gradient = run.params[param]->gradient();
    to_ = gradient.as<T>();
    if (!run.accumulate[param]) std::fill_n(to_, gradient.count(), T{0});
  }
  /// W += dy x^T
  void add_outer(const T* dy, const T* x, int64_t outputs, int64_t inputs) const {
    if (!to_) return;
    parallel_for(outputs, 1 + (1 << 14) / inputs, [=, to = to_](int64_t o) {
      for (int64_t i = 0; i < inputs; ++i) to[o * inputs + i] += dy[o] * x[i];
    });
  }
  /// b += dy
  void add(const T* dy, int64_t count) const {
    for (int64_t i = 0; to_ && i < count; ++i) to_[i] += dy[i];
  }

 private:
  T* to_ = nullptr;
};

}  // namespace robusta::reference
