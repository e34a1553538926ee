/// Transcendental functions of one float without branches or calls, for loops that the compiler turns into vectors.
///
/// Relative error below 4e-7 within the stated range; NaN in, NaN out. The reference kernels use <cmath> instead.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace robusta::vec {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// condition ? then : otherwise, of values that are both computed: by masks, since the compiler turns the conditional
/// expression into a branch around arithmetic that might trap, and a loop with a branch does not become vectors. Nor
/// does one with && or ||.
inline float select(bool condition, float then, float otherwise) {
  const uint32_t mask = -static_cast<uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(then) & mask) | (std::bit_cast<uint32_t>(otherwise) & ~mask));
}
namespace detail {

/// ln 2 in two pieces; small integers times the first one are exact.
inline constexpr float kLn2 = 0x1.62e4p-1f, kLn2Rest = 1.42860677e-6f;

/// Adding it leaves a number, rounded to an integer, in the low bits of the significand: 1.5 * 2^23.
inline constexpr float kToInteger = 12582912.0f;

/// 2^k of k + kToInteger. REQUIRES: -126 <= k <= 127.
inline float power_of_two(float shifted) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + (127u << 23));
}

/// e^x = power * (1 + rest) with power = 2^k and |x - k ln 2| <= ln(2)/2. REQUIRES: -87.3 <= x <= 88.3.
struct ExpParts {
  float power, rest;
};

inline ExpParts exp_parts(float x) {
  const float shifted = x * 1.44269504f + kToInteger;
  const float k = shifted - kToInteger;
  const float r = (x - k * kLn2) - k * kLn2Rest;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  return {power_of_two(shifted), r + r * r * series};
}

}  // namespace detail

/// e^x; infinite from 88.37 on (the float range would end at 88.72), 0 below the smallest normal float.
inline float exp(float x) {
  const auto [power, rest] = detail::exp_parts(x);
  const float y = select(x > 88.37f, kInfinity, power + power * rest);
  return select(x < -87.336f, 0.0f, y);
}

/// e^x - 1 without cancellation near 0; infinite from 88.37 on.
inline float expm1(float x) {
  const auto [power, rest] = detail::exp_parts(x);
  const float y = select(x > 88.37f, kInfinity, power * rest + (power - 1.0f));
  return select(x < -20.0f, -1.0f, y);
}

inline float tanh(float x) {
  const float t = select(x > 10.0f, 10.0f, select(x < -10.0f, -10.0f, x));
  const float e = expm1(2.0f * t);
  return e / (e + 2.0f);
}

/// 1 / (1 + e^-x)
inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

}  // namespace robusta::vec
