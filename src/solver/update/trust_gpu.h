/// Steps scaled to the norm of the weights (trust.h), in a GPU's memory: the norms stay there, and nothing waits for
/// them. For files named *_gpu.cpp.
#pragma once

#include <cassert>
#include <utility>

#include "device/gpu/reduce.h"
#include "solver/update/trust.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The arrays of one parameter whose histories have moved.
template <template <typename> class Element>
struct MovedParameter {
  static constexpr int kHistories = Element<float>::kTraits.histories;
  Element<float> element;
  float* w;
  const float* h[kHistories];
  ROBUSTA_GPU float step(int64_t i) const { return step(i, std::make_integer_sequence<int, kHistories>()); }
  template <int... I>
  ROBUSTA_GPU float step(int64_t i, std::integer_sequence<int, I...>) const {
    return element.step(w[i], h[I][i]...);
  }
};

template <template <typename> class Element>
struct SumSquares {
  using Sum = TrustSums;
  MovedParameter<Element> moved;
  TrustSums* total;
  ROBUSTA_GPU Sum zero() const { return {}; }
  ROBUSTA_GPU Sum term(int64_t i) const {
    const double weight = static_cast<double>(moved.w[i]), step = static_cast<double>(moved.step(i));
    return {weight * weight, step * step};
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return {a.weights + b.weights, a.steps + b.steps}; }
  ROBUSTA_GPU void store(Sum sum) const { *total = sum; }
};

template <template <typename> class Element>
struct TakeStep {
  MovedParameter<Element> moved;
  const TrustSums* sums;
  double rate;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const TrustSums s = *sums;
    const double trust = s.weights > 0 && s.steps > 0 ? sqrt(s.weights / s.steps) : 1;
    moved.w[i] -= static_cast<float>(rate * trust) * moved.step(i);
  }
};

template <template <typename> class Element, int... I>
void step_by_trust_on_gpu(const Element<float>& element, const UpdateTask& task, std::integer_sequence<int, I...>) {
  assert(task.scratch);
  const MovedParameter<Element> moved{
      element, static_cast<float*>(task.weights), {static_cast<const float*>(task.history[I])...}};
  auto* const total = static_cast<TrustSums*>(task.scratch);
  const SumSquares<Element> squares{moved, total};
  assert(reduce_all_scratch<SumSquares<Element>>(task.count) + sizeof *total <= kTrustScratch);
  reduce_all(task.stream, task.count, total + 1, squares);
  for_each(task.stream, task.count, TakeStep<Element>{moved, total, task.rate});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
