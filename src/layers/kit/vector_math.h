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
inline double select(bool condition, double then, double otherwise) {
  const uint64_t mask = -static_cast<uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<uint64_t>(then) & mask) | (std::bit_cast<uint64_t>(otherwise) & ~mask));
}

namespace host_detail {

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

/// x = 2^power * (1 + rest) with sqrt(1/2) <= 1 + rest < sqrt(2). REQUIRES: x is positive and finite.
struct LogParts {
  float power, rest;
};

inline LogParts log_parts(float x) {
  // Subnormal numbers are made normal first.
  const bool small = x < std::numeric_limits<float>::min();
  const float normal = x * select(small, 0x1p23f, 1.0f);
  constexpr uint32_t kRoot = std::bit_cast<uint32_t>(0.707106781f);  ///< sqrt(1/2), where the range of 1 + rest begins
  const uint32_t above = std::bit_cast<uint32_t>(normal) - kRoot;
  const int32_t power = static_cast<int32_t>(above) >> 23;
  const float reduced = std::bit_cast<float>((above & 0x7fffffu) + kRoot);
  return {static_cast<float>(power) - select(small, 23.0f, 0.0f), reduced - 1.0f};
}

/// log2(x), with a relative error below 2^-33. REQUIRES: x is positive and finite.
inline double log2_wide(float x) {
  const auto [power, rest] = log_parts(x);
  // 2 atanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...)
  const double s = rest / (2.0 + rest), z = s * s;
  double series = 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  constexpr double kTwoPerLn2 = 2.8853900817779268;  ///< 2 / ln 2
  return power + kTwoPerLn2 * s * series;
}

/// 2^x for any x; 0 and infinity where floats end.
inline float exp2_wide(double x) {
  // NaN stays one.
  const double t = select(x < -200, -200.0, select(x > 200, 200.0, x));
  constexpr double kToIntegerWide = 0x1.8p52;  ///< added to a double it leaves no room for a fraction: it rounds
  const double k = (t + kToIntegerWide) - kToIntegerWide;
  const auto [one, rest] = exp_parts(static_cast<float>((t - k) * 0.69314718055994531));
  // 2^k as two factors, since it may lie outside of the range of floats.
  const float whole = static_cast<float>(k), shifted = whole * 0.5f + kToInteger, half = shifted - kToInteger;
  return (one + one * rest) * power_of_two(shifted) * power_of_two(whole - half + kToInteger);
}

}  // namespace host_detail

/// e^x; infinite from 88.37 on (the float range would end at 88.72), 0 below the smallest normal float.
inline float exp(float x) {
  const auto [power, rest] = host_detail::exp_parts(x);
  const float y = select(x > 88.37f, kInfinity, power + power * rest);
  return select(x < -87.336f, 0.0f, y);
}

/// e^x - 1 without cancellation near 0; infinite from 88.37 on.
inline float expm1(float x) {
  const auto [power, rest] = host_detail::exp_parts(x);
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

/// The natural logarithm; -infinity of 0, NaN of less.
inline float log(float x) {
  const auto [power, rest] = host_detail::log_parts(x);
  // 2 atanh(s) = rest - s * (rest - tail), where s = rest / (2 + rest), tail = 2 (s^2 / 3 + s^4 / 5 + ...)
  const float s = rest / (2.0f + rest), z = s * s;
  float tail = 2.0f / 9;
  tail = tail * z + 2.0f / 7;
  tail = tail * z + 2.0f / 5;
  tail = tail * z + 2.0f / 3;
  tail = tail * z;
  const float y = power * host_detail::kLn2 + (rest - (s * (rest - tail) - power * host_detail::kLn2Rest));
  const float at_end = select(x == 0, -kInfinity, select(x == kInfinity, kInfinity, kNaN));
  return select((x > 0) & (x < kInfinity), y, at_end);
}

/// log(1 + x) without cancellation near 0: log(u) for the rounded u = 1 + x, times what the rounding took (Goldberg
/// 1991, "What every computer scientist should know about floating-point arithmetic", theorem 4).
inline float log1p(float x) {
  const float u = 1.0f + x, kept = u - 1.0f;
  const bool usual = (kept != 0) & (u < kInfinity);
  return select(usual, log(u) * (x / select(usual, kept, 1.0f)), x);
}

/// base^exponent, as std::pow has it for every base and every finite exponent.
inline float pow(float base, float exponent) {
  const uint32_t bits = std::bit_cast<uint32_t>(base);
  const float x = std::bit_cast<float>(bits & 0x7fffffffu);
  const double shifted = exponent + 0x1.8p52;
  const bool integer = shifted - 0x1.8p52 == exponent;
  // The sign of the base stays where the exponent is odd.
  const uint32_t sign = integer ? static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted)) << 31 : 0;

  float y = host_detail::exp2_wide(exponent * host_detail::log2_wide(x));
  y = select(x == 0, select(exponent > 0, 0.0f, kInfinity), y);
  y = select(x == kInfinity, select(exponent > 0, kInfinity, 0.0f), y);
  y = select((x >= 0) & ((base >= 0) | (x == kInfinity) | integer), y, kNaN);
  y = std::bit_cast<float>(std::bit_cast<uint32_t>(y) | (bits & sign));
  return select(exponent == 0, 1.0f, y);
}

}  // namespace robusta::vec
