/// Kernels that fold a constant BatchNorm into filters and bias, for library_params_gpu.h. For files named *_gpu.cpp.
/// Their speed does not matter: they run when weights are loaded, or when a training has changed them.
#pragma once

#include "device/gpu/divisor.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/norm_eps.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Per channel: the factor of a constant BatchNorm and its Scale, and what both leave to be added. Arrays may be null:
/// a scale of 1, a shift and a bias of 0.
template <typename T>
struct FoldNorm {
  const float *means, *variances, *batches, *scale, *shift, *bias;
  NormEps eps;
  float* factors;
  T* biases;
  ROBUSTA_GPU void operator()(int64_t c) const {
    const double count = static_cast<double>(*batches), norm = count == 0 ? 0 : 1 / count;
    const double factor = (scale ? scale[c] : 1.0) * eps.inverse(variances[c] * norm);
    const double moved = (bias ? bias[c] : 0.0) - means[c] * norm;
    factors[c] = static_cast<float>(factor);
    biases[c] = static_cast<T>(static_cast<float>(moved * factor + (shift ? shift[c] : 0.0)));
  }
};

/// Per output, a matrix of rows x cols times the output's factor, transposed.
template <typename T>
struct ScaleFilters {
  Divisor rows, cols;
  int64_t row_length, size;
  const float *from, *factors;
  T* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t output = i;
    const int64_t row = rows.take_off(output), col = cols.take_off(output);
    to[i] = static_cast<T>(from[output * size + row * row_length + col] * factors[output]);
  }
  void touches(int64_t count, KernelArrays& touched) const {
    touched.add(from, count);
    touched.add(to, count);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
