/// A function of two numbers, applied to arrays of floats or bfloat16, 16 elements at a time.
///
/// For use inside of ROBUSTA_SIMD functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/stored_lanes.h"

namespace robusta {

/// What follows is fetched so many bytes ahead: a loop that rounds to 16 bits computes for so long that the processor
/// by itself has too few reads under way.
inline constexpr int64_t kFetchAhead = 4096;

template <typename T>
__attribute__((always_inline)) inline void fetch_ahead(const T* from) {
  __builtin_prefetch(reinterpret_cast<const char*>(from) + kFetchAhead, 0, 2);
}

template <typename A, typename B, typename To, typename Compute>
__attribute__((always_inline)) inline void map_16(const A* a, const B* b, To* to, const Compute& compute) {
  Floats<16> x, y;
  load<16>(a, x);
  load<16>(b, y);
  compute(x, y);
  store<16>(x, to);
}

/// to[i] = what compute(x, y) makes of x = a[i], with y = b[i]: it takes both as Floats<16>, by reference, and must be
/// inline. `to` may be `a` or `b`.
template <typename A, typename B, typename To, typename Compute>
__attribute__((always_inline)) inline void map_lanes(const A* a, const B* b, To* to, int64_t count,
                                                     const Compute& compute) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    fetch_ahead(a + i);
    fetch_ahead(b + i);
    map_16(a + i, b + i, to + i, compute);
  }
  if (i == count) return;
  A last_a[16] = {};
  B last_b[16] = {};
  To last[16];
  std::copy_n(a + i, count - i, last_a);
  std::copy_n(b + i, count - i, last_b);
  map_16(last_a, last_b, last, compute);
  std::copy_n(last, count - i, to + i);
}

}  // namespace robusta
