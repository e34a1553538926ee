// A block at a time, in loops without branches that the compiler turns into vectors.

#include "comm/reduce/int8.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/simd.h"

namespace robusta::int8 {
namespace {

constexpr float kMost = 127;
constexpr uint32_t kInfinity = 0x7f800000;  // bits of f32; those of NaN are above
/// Below this the reciprocal of a scale is no number: all of such a block is left for later.
constexpr float kLeast = 1e-30f;

/// The bits of the largest magnitude, which are ordered as the magnitudes are.
ROBUSTA_SIMD uint32_t largest_bits(const float* values, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  return largest;
}

/// Ties to even: adding 1.5 x 2^23 leaves no bits for a fraction.
ROBUSTA_SIMD void round_all(const float* __restrict values, float inverse, int8_t* __restrict to, int64_t count) {
  constexpr float kShift = 12582912.0f;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<int8_t>(static_cast<int32_t>((values[i] * inverse + kShift) - kShift));
  }
}

ROBUSTA_SIMD void add_all(float* __restrict values, const float* __restrict left, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] += left[i];
}

ROBUSTA_SIMD void leave(const float* __restrict values, const int8_t* __restrict rounded, float scale,
                        float* __restrict left, int64_t count) {
  for (int64_t i = 0; i < count; ++i) left[i] = values[i] - static_cast<float>(rounded[i]) * scale;
}

ROBUSTA_SIMD void scale_all(const int8_t* __restrict from, float scale, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

ROBUSTA_SIMD void add_scaled(const int8_t* __restrict from, float scale, float* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += static_cast<float>(from[i]) * scale;
}

/// Rounds a block, and returns its scale.
float pack_block(const float* from, float* left, int8_t* to, int64_t count) {
  float values[kBlock];
  std::copy_n(from, count, values);
  if (left) add_all(values, left, count);
  const uint32_t bits = largest_bits(values, count);
  if (bits >= kInfinity) {
    std::fill_n(to, count, int8_t{0});
    if (left) std::fill_n(left, count, 0.0f);
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float largest = std::bit_cast<float>(bits), scale = largest < kLeast ? 0 : largest / kMost;
  round_all(values, scale == 0 ? 0 : kMost / largest, to, count);
  if (left) leave(values, to, scale, left, count);
  return scale;
}

/// Calls work(scale, elements, first, count) for each block.
template <typename Work>
void for_blocks(const std::byte* packed, int64_t count, const Work& work) {
  const std::byte* scales = packed;
  const auto* elements = reinterpret_cast<const int8_t*>(packed + (bytes(count) - static_cast<size_t>(count)));
  for (int64_t first = 0; first < count; first += kBlock, scales += sizeof(float)) {
    float scale;
    std::memcpy(&scale, scales, sizeof scale);
    work(scale, elements + first, first, std::min(kBlock, count - first));
  }
}

}  // namespace

void pack(const float* from, float* left, std::byte* to, int64_t count) {
  auto* elements = reinterpret_cast<int8_t*>(to + (bytes(count) - static_cast<size_t>(count)));
  for (int64_t first = 0; first < count; first += kBlock, to += sizeof(float)) {
    const float scale =
        pack_block(from + first, left ? left + first : nullptr, elements + first, std::min(kBlock, count - first));
    std::memcpy(to, &scale, sizeof scale);
  }
}

void unpack(const std::byte* from, float* to, int64_t count) {
  for_blocks(from, count, [&](float scale, const int8_t* elements, int64_t first, int64_t size) {
    scale_all(elements, scale, to + first, size);
  });
}

void add_unpacked(const std::byte* from, float* to, int64_t count) {
  for_blocks(from, count, [&](float scale, const int8_t* elements, int64_t first, int64_t size) {
    add_scaled(elements, scale, to + first, size);
  });
}

}  // namespace robusta::int8
