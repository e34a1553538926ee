/// Floating-point numbers of 16 bits, as they are stored: bfloat16 (f32's range, 8 bits of precision) and IEEE 754
/// binary16 (11 bits, up to 65504). Arithmetic is done in float; conversions round to the nearest, ties to even.
///
/// GPU kernels use the same types; on the GPU the hardware converts.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define ROBUSTA_HOST_DEVICE __host__ __device__
#else
#define ROBUSTA_HOST_DEVICE
#endif

namespace robusta {

/// Not a number stays one.
constexpr uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t quiet = bits | 0x400000u;  // rounding must not turn a NaN into infinity
  return static_cast<uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16);
}

constexpr float from_bf16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

/// Values from 65520 on become infinite. The rounding is the float unit's own: adding 2^n * ulp aligns the mantissa,
/// scaling by a power of two is exact.
constexpr uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Below 2^-14: 0.5 has the ulp of fp16's subnormals, so the sum's lowest bits are the result.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < (113u << 23) ? small : normal;
  if (magnitude >= 0x477ff000u) result = 0x7c00u;
  if (magnitude > 0x7f800000u) result = 0x7e00u;
  return static_cast<uint16_t>(sign | result);
}

constexpr float from_fp16(uint16_t value) {
  const uint32_t sign = (value & 0x8000u) << 16, magnitude = value & 0x7fffu;
  // 2^112 moves fp16's exponent to f32's, subnormals too; infinity and NaN are all that is left to set.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

/// bfloat16. Converted explicitly, so that no arithmetic happens in 16 bits by accident.
struct BFloat16 {
  BFloat16() = default;
  ROBUSTA_HOST_DEVICE explicit BFloat16(float value) {
#ifdef __CUDA_ARCH__
    bits = static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
#else
    bits = to_bf16(value);
#endif
  }
  ROBUSTA_HOST_DEVICE explicit operator float() const { return from_bf16(bits); }
  uint16_t bits;
};

/// IEEE 754 binary16; the rest as for BFloat16.
struct Half {
  Half() = default;
  ROBUSTA_HOST_DEVICE explicit Half(float value) {
#ifdef __CUDA_ARCH__
    bits = static_cast<__half_raw>(__float2half_rn(value)).x;
#else
    bits = to_fp16(value);
#endif
  }
  ROBUSTA_HOST_DEVICE explicit operator float() const {
#ifdef __CUDA_ARCH__
    __half_raw raw;
    raw.x = bits;
    return __half2float(raw);
#else
    return from_fp16(bits);
#endif
  }
  uint16_t bits;
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Half) == 2);

/// to = value, rounded to the nearest. For loops of the host that shall become vectors: GCC 12 makes none where whole
/// structures are assigned.
inline void assign(float value, float& to) { to = value; }
inline void assign(float value, BFloat16& to) { to.bits = to_bf16(value); }
inline void assign(float value, Half& to) { to.bits = to_fp16(value); }

}  // namespace robusta
