/// The Euclidean lengths of the rows of a matrix, on the GPU. For files named *_gpu.cpp.
///
/// Summed in double, as by the references: in float the squares of small elements would be zeros, those of large ones
/// infinite.
#pragma once

#include <cmath>

#include "device/gpu/reduce.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// A body of reduce_rows: the length of each row of `width` elements.
struct RowLengths {
  using Sum = double;
  const float* rows;
  int64_t width;
  float* lengths;
  float of_zeros = 0;  ///< what a row of zeros has
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t k) const {
    const double x = static_cast<double>(rows[row * width + k]);
    return x * x;
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const {
    lengths[row] = sum > 0 ? static_cast<float>(::sqrt(sum)) : of_zeros;
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
