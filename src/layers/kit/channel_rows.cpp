// Row loops of Scale, Bias and InnerProduct.
//
// Where channels are stored side by side (inner 1) a row holds all of them, and factors are read along with it; else a
// row is one channel. Sums go over f32 in stretches short enough to lose nothing that counts, and over stretches in
// double.

#include "layers/kit/channel_rows.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/simd.h"

namespace robusta {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements that one thread should at least have
constexpr int64_t kStretch = 4096;   // elements summed in f32 before a sum goes on in double

ROBUSTA_SIMD void affine_row(const float* x, float factor, float shift, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + shift;
}

ROBUSTA_SIMD void multiply_add(const float* x, const float* factor, const float* shift, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i] + shift[i];
}

ROBUSTA_SIMD void multiply(const float* x, const float* factor, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i];
}

ROBUSTA_SIMD void add(const float* x, const float* shift, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + shift[i];
}

ROBUSTA_SIMD float stretch_sum(const float* a, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i];
  return sum;
}

ROBUSTA_SIMD float stretch_dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

ROBUSTA_SIMD void add_to(double* sums, const float* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += a[i];
}

ROBUSTA_SIMD void add_product_to(double* sums, const float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(a[i]) * b[i];
}

/// Elementwise factors and shifts, for inner 1.
void affine_elements(const float* x, const float* factor, const float* shift, float* y, int64_t n) {
  if (factor && shift) return multiply_add(x, factor, shift, y, n);
  if (factor) return multiply(x, factor, y, n);
  if (shift) return add(x, shift, y, n);
  if (x != y) std::copy(x, x + n, y);
}

/// Sums over `inner`: stretch(begin, n) gives the sum of n elements.
template <typename Stretch>
void sum_runs(const ChannelRows& rows, bool add_up, float* sums, const Stretch& stretch) {
  parallel_for(rows.count, 1 + kGrain / (rows.outer * rows.inner), [&](int64_t c) {
    double sum = add_up ? sums[c] : 0.0f;
    for (int64_t o = 0; o < rows.outer; ++o) {
      const int64_t begin = (o * rows.count + c) * rows.inner, end = begin + rows.inner;
      for (int64_t i = begin; i < end; i += kStretch) sum += stretch(i, std::min(kStretch, end - i));
    }
    sums[c] = static_cast<float>(sum);
  });
}

/// Sums for inner 1: accumulate(totals, begin, n) adds n neighbouring elements to as many totals.
template <typename Accumulate>
void sum_columns(const ChannelRows& rows, bool add_up, float* sums, const Accumulate& accumulate) {
  constexpr int64_t kBlock = 256;
  const int64_t blocks = (rows.count + kBlock - 1) / kBlock;
  parallel_for(blocks, 1 + kGrain / (rows.outer * kBlock), [&](int64_t block) {
    const int64_t begin = block * kBlock, n = std::min(kBlock, rows.count - begin);
    double totals[kBlock];
    for (int64_t i = 0; i < n; ++i) totals[i] = add_up ? sums[begin + i] : 0.0f;
    for (int64_t o = 0; o < rows.outer; ++o) accumulate(totals, o * rows.count + begin, n);
    for (int64_t i = 0; i < n; ++i) sums[begin + i] = static_cast<float>(totals[i]);
  });
}

}  // namespace

void ChannelRows::affine(const float* x, const float* factor, const float* shift, float* y) const {
  if (inner == 1) {
    parallel_for(outer, 1 + kGrain / count,
                 [=, *this](int64_t o) { affine_elements(x + o * count, factor, shift, y + o * count, count); });
    return;
  }
  parallel_for(outer * count, 1 + kGrain / inner, [=, *this](int64_t row) {
    const int64_t c = row % count;
    affine_row(x + row * inner, factor ? factor[c] : 1.0f, shift ? shift[c] : 0.0f, y + row * inner, inner);
  });
}

void ChannelRows::sum(const float* a, bool add_up, float* sums) const {
  if (inner == 1) {
    sum_columns(*this, add_up, sums, [=](double* totals, int64_t i, int64_t n) { add_to(totals, a + i, n); });
  } else {
    sum_runs(*this, add_up, sums, [=](int64_t i, int64_t n) { return stretch_sum(a + i, n); });
  }
}

void ChannelRows::dot(const float* a, const float* b, bool add_up, float* sums) const {
  if (inner == 1) {
    sum_columns(*this, add_up, sums,
                [=](double* totals, int64_t i, int64_t n) { add_product_to(totals, a + i, b + i, n); });
  } else {
    sum_runs(*this, add_up, sums, [=](int64_t i, int64_t n) { return stretch_dot(a + i, b + i, n); });
  }
}

}  // namespace robusta
