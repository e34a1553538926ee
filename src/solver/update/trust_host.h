/// Steps scaled to the norm of the weights (trust.h), on the host. Sums are made block by block in order: the same for
/// any number of threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"
#include "solver/update/trust.h"
#include "solver/update/update_rule.h"

namespace robusta {

template <typename Element, typename T, typename... H>
ROBUSTA_SIMD void add_squares(Element element, int64_t count, TrustSums* sums, const T* w, const H*... histories) {
  double weights = 0, steps = 0;
#pragma omp simd reduction(+ : weights, steps)
  for (int64_t i = 0; i < count; ++i) {
    const double weight = static_cast<double>(w[i]), step = static_cast<double>(element.step(w[i], histories[i]...));
    weights += weight * weight;
    steps += step * step;
  }
  *sums = {weights, steps};
}

template <typename Element, typename T, typename... H>
ROBUSTA_SIMD void take_step(Element element, int64_t count, T rate, T* __restrict w, const H* __restrict... histories) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) w[i] -= rate * element.step(w[i], histories[i]...);
}

/// 1 where a norm is 0.
inline double trust_of(const TrustSums& sums) {
  return sums.weights > 0 && sums.steps > 0 ? std::sqrt(sums.weights / sums.steps) : 1;
}

/// Moves the weights of a task whose histories have moved.
template <typename Element, typename T, size_t... I>
void step_by_trust(const Element& element, const UpdateTask& task, std::index_sequence<I...>) {
  constexpr int64_t kBlock = 1 << 16;  // fixed, so that the order of the sums does not depend on the threads
  const int64_t blocks = (task.count + kBlock - 1) / kBlock;
  T* const w = static_cast<T*>(task.weights);
  std::vector<TrustSums> parts(static_cast<size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t b) {
    const int64_t at = b * kBlock;
    add_squares(element, std::min(kBlock, task.count - at), &parts[static_cast<size_t>(b)], w + at,
                (static_cast<const T*>(task.history[I]) + at)...);
  });
  TrustSums sums;
  for (const TrustSums& part : parts) sums.weights += part.weights, sums.steps += part.steps;
  const T rate = static_cast<T>(task.rate * trust_of(sums));
  parallel_for(blocks, 1, [&](int64_t b) {
    const int64_t at = b * kBlock;
    take_step(element, std::min(kBlock, task.count - at), rate, w + at,
              (static_cast<const T*>(task.history[I]) + at)...);
  });
}

}  // namespace robusta
