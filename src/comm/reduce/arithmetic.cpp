#include "comm/reduce/arithmetic.h"

#include <bit>

#include "base/simd.h"

namespace robusta {
namespace {

ROBUSTA_SIMD void sum(float* __restrict to, const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}
ROBUSTA_SIMD void sum(double* __restrict to, const double* a, const double* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}
ROBUSTA_SIMD void accumulate(float* __restrict to, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}
ROBUSTA_SIMD void accumulate(double* __restrict to, const double* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t quiet = bits | 0x400000u;  // rounding must not turn a NaN into infinity
  return static_cast<uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16);
}

inline float from_bf16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// fp16 by the float unit's own rounding: adding 2^n * ulp aligns the mantissa, scaling by a power of two is exact.
inline uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Below 2^-14: 0.5 has the ulp of fp16's subnormals, so the sum's lowest bits are the result.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < (113u << 23) ? small : normal;
  if (magnitude >= 0x477ff000u) result = 0x7c00u;  // from 65520 on: infinite
  if (magnitude > 0x7f800000u) result = 0x7e00u;
  return static_cast<uint16_t>(sign | result);
}

inline float from_fp16(uint16_t value) {
  const uint32_t sign = (value & 0x8000u) << 16, magnitude = value & 0x7fffu;
  // 2^112 moves fp16's exponent to f32's, subnormals too; infinity and NaN are all that is left to set.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

ROBUSTA_SIMD void pack_bf16(const float* __restrict from, uint16_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}
ROBUSTA_SIMD void pack_fp16(const float* __restrict from, uint16_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = to_fp16(from[i]);
}
ROBUSTA_SIMD void unpack_bf16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from_bf16(from[i]);
}
ROBUSTA_SIMD void unpack_fp16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from_fp16(from[i]);
}
ROBUSTA_SIMD void add_bf16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from_bf16(from[i]);
}
ROBUSTA_SIMD void add_fp16(const uint16_t* __restrict from, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from_fp16(from[i]);
}

}  // namespace

void add_into(const Span& to, const void* a, const void* b) {
  dispatch(to.type, [&](auto t) {
    using T = decltype(t);
    sum(reinterpret_cast<T*>(to.data), static_cast<const T*>(a), static_cast<const T*>(b), to.count);
  });
}

void add(const Span& to, const void* from) {
  dispatch(to.type, [&](auto t) {
    using T = decltype(t);
    accumulate(reinterpret_cast<T*>(to.data), static_cast<const T*>(from), to.count);
  });
}

void pack(Compression format, const float* from, uint16_t* to, int64_t count) {
  (format == Compression::kFp16 ? pack_fp16 : pack_bf16)(from, to, count);
}

void unpack(Compression format, const uint16_t* from, float* to, int64_t count) {
  (format == Compression::kFp16 ? unpack_fp16 : unpack_bf16)(from, to, count);
}

void add_unpacked(Compression format, const uint16_t* from, float* to, int64_t count) {
  (format == Compression::kFp16 ? add_fp16 : add_bf16)(from, to, count);
}

}  // namespace robusta
