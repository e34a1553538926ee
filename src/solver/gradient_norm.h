/// Sums over whole arrays that are the same for any number of threads.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace robusta {

struct Norms {
  double l1 = 0;          ///< sum of absolute values
  double square_sum = 0;  ///< of the L2 norm
};

/// Sums in double, block by block in order. REQUIRES: plain host memory.
Norms norms(const Tensor& tensor);

/// True when every element is finite. REQUIRES: plain host memory.
bool all_finite(const Tensor& tensor);

}  // namespace robusta
