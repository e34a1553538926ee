/// The loop that all update rules share.
#pragma once

#include "base/parallel.h"
#include "base/simd.h"
#include "solver/update/decayed_gradient.h"
#include "solver/update/update_rule.h"

namespace robusta {

template <typename Element, typename T>
ROBUSTA_SIMD void fused_one(Element element, DecayedGradient<T> decayed, const T* __restrict gradient, T* __restrict w,
                            T* __restrict h, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) element(w[i], decayed(gradient[i], w[i]), h[i]);
}

template <typename Element, typename T>
ROBUSTA_SIMD void fused_two(Element element, DecayedGradient<T> decayed, const T* __restrict gradient, T* __restrict w,
                            T* __restrict h0, T* __restrict h1, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) element(w[i], decayed(gradient[i], w[i]), h0[i], h1[i]);
}

/// Runs `Element<T>(task, settings)` over all elements of a task.
template <template <typename> class Element>
void run_fused(const UpdateTask& task, const RuleSettings& settings) {
  constexpr int64_t kGrain = 16384;  // 64 KiB of floats: less is not worth waking a thread for
  dispatch(task.dtype, [&](auto type) {
    using T = decltype(type);
    const Element<T> element(task, settings);
    const DecayedGradient<T> decayed(task);
    parallel_ranges(task.count, kGrain, [&](int64_t begin, int64_t end) {
      const T* gradient = static_cast<const T*>(task.gradient) + begin;
      T* w = static_cast<T*>(task.weights) + begin;
      T* h0 = static_cast<T*>(task.history[0]) + begin;
      if constexpr (Element<T>::kHistories == 1) {
        fused_one(element, decayed, gradient, w, h0, end - begin);
      } else {
        fused_two(element, decayed, gradient, w, h0, static_cast<T*>(task.history[1]) + begin, end - begin);
      }
    });
  });
}

/// The rule of an element: a struct with kName, kHistories, kMovesWithoutRate and operator()(T& w, T g, T& h0[, T&
/// h1]).
template <template <typename> class Element>
class FusedRule : public UpdateRule {
 public:
  explicit FusedRule(const RuleSettings& settings) : settings_(settings) {}
  int histories() const override { return Element<float>::kHistories; }
  bool history_moves_without_rate() const override { return Element<float>::kMovesWithoutRate; }
  void apply(std::span<const UpdateTask> tasks) const override {
    if (!tasks.empty() && tasks[0].stream) {
      return device_rule(tasks[0].kernel_kind, Element<float>::kName)(tasks, settings_);
    }
    for (const UpdateTask& task : tasks) run_fused<Element>(task, settings_);
  }

 private:
  RuleSettings settings_;
};

/// Throws Error{kConfig} unless the momentum is 0.
void require_no_momentum(const SolverDef& solver);

}  // namespace robusta
