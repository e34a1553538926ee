/// Division by a number that is known before a kernel starts, as one multiplication. For files named *_gpu.cpp.
///
/// GPUs divide slowly, and kernels find the coordinates of an element by division.
#pragma once

#include <cassert>
#include <cstdint>

#include "device/gpu/target.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Granlund and Montgomery 1994, "Division by invariant integers using multiplication", section 4: with
/// 2^(l-1) < d <= 2^l and m = floor(2^(31+l) / d) + 1, the quotient of n is floor(n m / 2^(31+l)) for 0 <= n < 2^31.
/// m < 2^32. Larger numbers are divided plainly.
class Divisor {
 public:
  /// REQUIRES: d > 0.
  explicit Divisor(int64_t d = 1) : d_(d) {
    assert(d > 0);
    if (d >> 31) return;  // all n < 2^31 give 0
    int l = 0;
    while (int64_t{1} << l < d) ++l;
    shift_ = 31 + l;
    m_ = (uint64_t{1} << shift_) / static_cast<uint64_t>(d) + 1;
  }

  /// floor(n / d). REQUIRES: n >= 0.
  ROBUSTA_GPU int64_t quotient(int64_t n) const {
    if (n >> 31) return n / d_;
    return static_cast<int64_t>(static_cast<uint64_t>(n) * m_ >> shift_);
  }
  /// Without a branch.
  ROBUSTA_GPU int32_t quotient(int32_t n) const {
    const uint64_t product = uint64_t{static_cast<uint32_t>(n)} * static_cast<uint32_t>(m_);
    return static_cast<int32_t>(product >> shift_);
  }
  ROBUSTA_GPU int64_t remainder(int64_t n) const { return n - quotient(n) * d_; }
  /// Returns the remainder of n, and n becomes the quotient: the last coordinate is taken off an index.
  ROBUSTA_GPU int64_t take_off(int64_t& n) const {
    const int64_t whole = n;
    n = quotient(n);
    return whole - n * d_;
  }
  ROBUSTA_GPU int32_t take_off(int32_t& n) const {
    const int32_t whole = n;
    n = quotient(n);
    return whole - n * static_cast<int32_t>(d_);
  }

 private:
  int64_t d_;
  uint64_t m_ = 0;  ///< the m of above, less than 2^32
  int shift_ = 0;   ///< 31 + l; 0: d is too large
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
