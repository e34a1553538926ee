/// Rules that scale the step of a parameter to the norm of its weights (LAMB's trust ratio, |w| / |step|).
///
/// Such a rule sets RuleTraits::adapts and has, beside what rule_element.h lists:
///
///   T rate                                                      by which its call operator multiplies the step
///   ROBUSTA_GPU T step(T w, T h...) const                       from the weight and its histories, once they have
///   moved
///
/// The call operator with a rate of 0 moves the histories alone; then the norms are known, and the weights move.
#pragma once

#include <cmath>
#include <cstddef>

namespace robusta {

/// Sums of squares, in double.
struct TrustSums {
  double weights = 0, steps = 0;
};

/// Device memory that a task needs which adapts, whatever its size.
inline constexpr size_t kTrustScratch = (size_t{1} << 10) * sizeof(TrustSums) + sizeof(TrustSums);

}  // namespace robusta
