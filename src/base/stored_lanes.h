/// Vectors of floats from and to memory that holds floats or bfloat16, as vector_types.h has them for floats alone.
///
/// For use inside of ROBUSTA_SIMD functions. Sixteen lanes are best: GCC 12 takes more of them apart where it narrows
/// words.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/vector_types.h"

namespace robusta {

template <int N>
__attribute__((always_inline)) inline void load(const float* from, Floats<N>& lanes) {
  lanes = floats_at<N>(from);
}

/// The first `there` lanes, and zeros. Only these are read.
template <int N>
__attribute__((always_inline)) inline void load_some(const float* from, int64_t there, Floats<N>& lanes) {
  if (there >= N) {
    lanes = floats_at<N>(from);
    return;
  }
  float part[N] = {};
  for (int64_t i = 0; i < there; ++i) part[i] = from[i];
  lanes = floats_at<N>(static_cast<const float*>(part));
}

template <int N>
__attribute__((always_inline)) inline void load(const BFloat16* from, Floats<N>& lanes) {
  typename VectorOf<N, uint16_t>::type bits;
  std::memcpy(&bits, from, sizeof bits);
  // The sixteen bits are the upper half of the float.
  const auto words = __builtin_convertvector(bits, typename VectorOf<N, uint32_t>::type) << 16;
  std::memcpy(&lanes, &words, sizeof lanes);
}

template <int N>
__attribute__((always_inline)) inline void store(const Floats<N>& lanes, float* to) {
  floats_at<N>(to) = lanes;
}

/// The first `there` lanes. Only these are written.
template <int N>
__attribute__((always_inline)) inline void store_some(const Floats<N>& lanes, int64_t there, float* to) {
  if (there >= N) {
    floats_at<N>(to) = lanes;
    return;
  }
  float part[N];
  floats_at<N>(static_cast<float*>(part)) = lanes;
  for (int64_t i = 0; i < there; ++i) to[i] = part[i];
}

/// Rounds as to_bf16 does.
template <int N>
__attribute__((always_inline)) inline void store(const Floats<N>& lanes, BFloat16* to) {
  typename VectorOf<N, uint32_t>::type words;
  std::memcpy(&words, &lanes, sizeof words);
  const auto rounded = words + 0x7fff + ((words >> 16) & 1), quiet = words | 0x400000;
  const auto upper = ((words & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16;
  const auto bits = __builtin_convertvector(upper, typename VectorOf<N, uint16_t>::type);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace robusta
