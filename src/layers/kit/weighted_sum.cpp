// Weighted sums by blocks that stay in the first-level cache while terms are added to them: each term is read from
// memory once, and the sum written once.

#include "layers/kit/weighted_sum.h"

#include <algorithm>

#include "base/lane_map.h"
#include "layers/kit/blocks.h"
#include "layers/kit/rectifier.h"

namespace robusta {
namespace {

template <typename Stored>
ROBUSTA_SIMD void scale(const Stored* a, float wa, Stored* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(wa * static_cast<float>(a[i]), to[i]);
}

template <typename A, typename B, typename To>
ROBUSTA_SIMD void add_two(const A* a, const B* b, To* to, int64_t count) {
  map_lanes(
      a, b, to, count, [](Floats<16> & x, const Floats<16>& y) __attribute__((always_inline)) { x += y; });
}

template <typename A, typename B, typename To>
ROBUSTA_SIMD void add_two_weighted(const A* a, float wa, const B* b, float wb, To* to, int64_t count) {
  map_lanes(
      a, b, to,
      count, [=](Floats<16> & x, const Floats<16>& y) __attribute__((always_inline)) { x = wa * x + wb * y; });
}

template <typename Stored>
ROBUSTA_SIMD void add_two_relu(const Stored* a, const Stored* b, float slope, Stored* to, int64_t count) {
  map_lanes(
      a, b, to, count, [=](Floats<16> & x, const Floats<16>& y) __attribute__((always_inline)) {
        x += y;
        x = x > 0 ? x : slope * x;
      });
}

template <typename Stored>
ROBUSTA_SIMD void relu(float slope, Stored* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(rectified(static_cast<float>(to[i]), slope), to[i]);
}

template <typename A, typename B, typename To>
void add(const SumTerm<A>& a, const SumTerm<B>& b, To* to, int64_t count) {
  if (a.weight == 1 && b.weight == 1) {
    add_two(a.data, b.data, to, count);
  } else {
    add_two_weighted(a.data, a.weight, b.data, b.weight, to, count);
  }
}

template <typename Stored>
SumTerm<Stored> behind(const SumTerm<Stored>& term, int64_t begin) {
  return {term.data + begin, term.weight};
}

template <typename Stored>
void sum_block(std::span<const SumTerm<Stored>> terms, Stored* to, int64_t begin, int64_t count) {
  to += begin;
  if (terms.size() == 1) return scale(terms[0].data + begin, terms[0].weight, to, count);
  if (terms.size() == 2) return add(behind(terms[0], begin), behind(terms[1], begin), to, count);
  float partial[kBlockElements];
  add(behind(terms[0], begin), behind(terms[1], begin), partial, count);
  const SumTerm<float> so_far{partial};
  for (size_t k = 2; k + 1 < terms.size(); ++k) add(so_far, behind(terms[k], begin), partial, count);
  add(so_far, behind(terms.back(), begin), to, count);
}

}  // namespace

template <typename Stored>
void weighted_sum(std::span<const SumTerm<Stored>> terms, Stored* to, int64_t count) {
  parallel_blocks(count, [=](int64_t begin, int64_t n) {
    if (terms.empty()) {
      std::fill_n(to + begin, n, Stored(0.0f));
    } else {
      sum_block(terms, to, begin, n);
    }
  });
}

template <typename Stored>
void weighted_sum_relu(std::span<const SumTerm<Stored>> terms, float slope, Stored* to, int64_t count) {
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

template void weighted_sum(std::span<const SumTerm<float>>, float*, int64_t);
template void weighted_sum(std::span<const SumTerm<BFloat16>>, BFloat16*, int64_t);
template void weighted_sum_relu(std::span<const SumTerm<float>>, float, float*, int64_t);
template void weighted_sum_relu(std::span<const SumTerm<BFloat16>>, float, BFloat16*, int64_t);

}  // namespace robusta
