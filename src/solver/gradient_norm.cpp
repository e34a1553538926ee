#include "solver/gradient_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"

namespace robusta {
namespace {

constexpr int64_t kBlock = 1 << 16;  // fixed, so that the order of the sum does not depend on the threads

template <typename T>
ROBUSTA_SIMD void sum_block(const T* values, int64_t count, double* l1, double* squares) {
  double absolute = 0, square = 0;
#pragma omp simd reduction(+ : absolute, square)
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[i]);
    absolute += std::fabs(x);
    square += x * x;
  }
  *l1 = absolute;
  *squares = square;
}

}  // namespace

Norms norms(const Tensor& tensor) {
  const int64_t count = tensor.count(), blocks = (count + kBlock - 1) / kBlock;
  std::vector<Norms> parts(static_cast<size_t>(blocks));
  dispatch(tensor.desc.dtype, [&](auto type) {
    const auto* values = tensor.as<decltype(type)>();
    parallel_for(blocks, 1, [&](int64_t b) {
      Norms& part = parts[static_cast<size_t>(b)];
      sum_block(values + b * kBlock, std::min(kBlock, count - b * kBlock), &part.l1, &part.square_sum);
    });
  });
  Norms total;
  for (const Norms& part : parts) {
    total.l1 += part.l1;
    total.square_sum += part.square_sum;
  }
  return total;
}

bool all_finite(const Tensor& tensor) {
  // A sum of finite floats cannot overflow a double, and one infinity or NaN stays in it.
  return std::isfinite(norms(tensor).l1);
}

}  // namespace robusta
