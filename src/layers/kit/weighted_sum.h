/// Sums of several arrays in one pass over memory: Eltwise forward, Split backward.
#pragma once

#include <cstdint>
#include <span>

namespace robusta {

/// One array of a sum.
struct SumTerm {
  const float* data;
  float weight = 1;
};

/// to[i] = sum of weight * data[i], added in the order of `terms` however the memory is shared. `to` may be the array
/// of the first or the second term. Without terms: zeros.
void weighted_sum(std::span<const SumTerm> terms, float* to, int64_t count);

/// The same, and what is not above 0 is multiplied by `slope`: a ReLU on top.
void weighted_sum_relu(std::span<const SumTerm> terms, float slope, float* to, int64_t count);

}  // namespace robusta
