/// Sums of several arrays in one pass over memory: Eltwise forward, Split backward.
///
/// `Stored`: float or BFloat16. Sums are computed in float and rounded once.
#pragma once

#include <cstdint>
#include <span>

#include "base/half.h"

namespace robusta {

/// One array of a sum.
template <typename Stored>
struct SumTerm {
  const Stored* data;
  float weight = 1;
};

/// to[i] = sum of weight * data[i], added in the order of `terms` however the memory is shared. `to` may be the array
/// of the first or the second term. Without terms: zeros.
template <typename Stored>
void weighted_sum(std::span<const SumTerm<Stored>> terms, Stored* to, int64_t count);

/// The same, and what is not above 0 is multiplied by `slope`: a ReLU on top.
template <typename Stored>
void weighted_sum_relu(std::span<const SumTerm<Stored>> terms, float slope, Stored* to, int64_t count);

}  // namespace robusta
