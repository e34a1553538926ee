// Weighted sums by blocks that stay in the first-level cache while terms are added to them: each term is read from
// memory once, and the sum written once.

#include "layers/kit/weighted_sum.h"

#include <algorithm>

#include "layers/kit/blocks.h"
#include "layers/kit/rectifier.h"

namespace robusta {
namespace {

ROBUSTA_SIMD void scale(const float* a, float wa, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = wa * a[i];
}

ROBUSTA_SIMD void add_two(const float* a, const float* b, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

ROBUSTA_SIMD void add_two_weighted(const float* a, float wa, const float* b, float wb, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = wa * a[i] + wb * b[i];
}

ROBUSTA_SIMD void add_two_relu(const float* a, const float* b, float slope, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = rectified(a[i] + b[i], slope);
}

ROBUSTA_SIMD void relu(float slope, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = rectified(to[i], slope);
}

void add(const SumTerm& a, const SumTerm& b, float* to, int64_t begin, int64_t count) {
  if (a.weight == 1 && b.weight == 1) {
    add_two(a.data + begin, b.data + begin, to + begin, count);
  } else {
    add_two_weighted(a.data + begin, a.weight, b.data + begin, b.weight, to + begin, count);
  }
}

void sum_block(std::span<const SumTerm> terms, float* to, int64_t begin, int64_t count) {
  if (terms.size() == 1) {
    scale(terms[0].data + begin, terms[0].weight, to + begin, count);
    return;
  }
  add(terms[0], terms[1], to, begin, count);
  for (size_t k = 2; k < terms.size(); ++k) add({to, 1}, terms[k], to, begin, count);
}

}  // namespace

void weighted_sum(std::span<const SumTerm> terms, float* to, int64_t count) {
  parallel_blocks(count, [=](int64_t begin, int64_t n) {
    if (terms.empty()) {
      std::fill_n(to + begin, n, 0.0f);
    } else {
      sum_block(terms, to, begin, n);
    }
  });
}

void weighted_sum_relu(std::span<const SumTerm> terms, float slope, float* to, int64_t count) {
  const bool plain_pair = terms.size() == 2 && terms[0].weight == 1 && terms[1].weight == 1;
  parallel_blocks(count, [=](int64_t begin, int64_t n) {
    if (plain_pair) {
      add_two_relu(terms[0].data + begin, terms[1].data + begin, slope, to + begin, n);
      return;
    }
    sum_block(terms, to, begin, n);
    relu(slope, to + begin, n);
  });
}

}  // namespace robusta
