/// f32 as 8 bits: blocks of whole numbers from -127 to 127, each with the scale that its largest element asks for.
///
/// What rounding leaves out of an element is added to it the next time (Seide et al. 2014, "1-Bit Stochastic Gradient
/// Descent and its Application to Data-Parallel Distributed Training of Speech DNNs", on error feedback; Karimireddy et
/// al. 2019, "Error Feedback Fixes SignSGD", on why that converges).
#pragma once

#include <cstddef>
#include <cstdint>

namespace robusta::int8 {

/// Elements that share a scale: one large gradient costs these their bits, and no more.
inline constexpr int64_t kBlock = 256;

/// Of `count` elements: their scales, then the elements.
constexpr size_t bytes(int64_t count) {
  return static_cast<size_t>((count + kBlock - 1) / kBlock) * sizeof(float) + static_cast<size_t>(count);
}

/// Rounds to the nearest multiple of the block's scale. `left` (may be null) is added first, and becomes what rounding
/// leaves out. A block with an element that is not finite becomes NaN, and nothing is left of it. `to` is aligned for
/// floats.
void pack(const float* from, float* left, std::byte* to, int64_t count);
void unpack(const std::byte* from, float* to, int64_t count);
/// to += unpacked
void add_unpacked(const std::byte* from, float* to, int64_t count);

}  // namespace robusta::int8
