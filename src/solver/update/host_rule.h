/// Update rules on the host: one fused pass over the arrays of a parameter.
///
/// Every array is read and written once: large layers are bound by memory. The loop is compiled for several instruction
/// sets, and has the same order of operations for each element whatever the threads.
#pragma once

#include <utility>

#include "base/parallel.h"
#include "base/simd.h"
#include "solver/update/rule_element.h"
#include "solver/update/trust_host.h"

namespace robusta {

template <typename Element, typename T, typename... H>
ROBUSTA_SIMD void update_elements(Element element, DecayedGradient<T> decayed, int64_t count,
                                  const T* __restrict gradient, T* __restrict w, H* __restrict... histories) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const T before = w[i];
    element(w[i], decayed(gradient[i], before), histories[i]...);
    w[i] -= decayed.shrinkage * before;
  }
}

/// The elements from `begin` to `end` of a task.
template <typename Element, typename T, size_t... I>
void update_range(const Element& element, const UpdateTask& task, int64_t begin, int64_t end,
                  std::index_sequence<I...>) {
  update_elements(element, DecayedGradient<T>(task, Element::kTraits), end - begin,
                  static_cast<const T*>(task.gradient) + begin, static_cast<T*>(task.weights) + begin,
                  (static_cast<T*>(task.history[I]) + begin)...);
}

/// Applies `Element<T>(task, settings)` to all elements of a task.
template <template <typename> class Element>
void update_on_host(const UpdateTask& task, const caffe::SolverParameter& settings) {
  constexpr int64_t kGrain = 16384;  // 64 KiB of floats: less is not worth waking a thread for
  dispatch(task.dtype, [&](auto type) {
    using T = decltype(type);
    Element<T> element(task, settings);
    if constexpr (Element<T>::kTraits.adapts) {
      if (task.adapts) element.rate = 0;
    }
    constexpr std::make_index_sequence<Element<T>::kTraits.histories> kHistories{};
    parallel_ranges(task.count, kGrain, [&](int64_t begin, int64_t end) {
      update_range<Element<T>, T>(element, task, begin, end, kHistories);
    });
    if constexpr (Element<T>::kTraits.adapts) {
      if (task.adapts) step_by_trust<Element<T>, T>(element, task, kHistories);
    }
  });
}

/// The rule of an element, on the host and, by what is registered for their kinds, on other devices.
template <template <typename> class Element>
class ElementRule : public UpdateRule {
 public:
  ElementRule(std::string type, const caffe::SolverParameter& settings) : type_(std::move(type)), settings_(settings) {}
  int histories() const override { return Element<float>::kTraits.histories; }
  bool history_moves_without_rate() const override { return Element<float>::kTraits.moves_without_rate; }
  bool adapts() const override { return Element<float>::kTraits.adapts; }
  LarcNorm larc_norm() const override { return Element<float>::kTraits.larc; }
  void apply(std::span<const UpdateTask> tasks) const override {
    if (!tasks.empty() && tasks[0].stream) return device_rule(tasks[0].kernel_kind, type_)(tasks, settings_);
    for (const UpdateTask& task : tasks) update_on_host<Element>(task, settings_);
  }

 private:
  std::string type_;
  caffe::SolverParameter settings_;
};

template <template <typename> class Element>
bool register_host_rule(const std::string& type) {
  return register_update_rule(type, [type](const SolverDef& solver) -> std::unique_ptr<UpdateRule> {
    if constexpr (requires { Element<float>::check(solver); }) Element<float>::check(solver);
    return std::make_unique<ElementRule<Element>>(type, solver.param);
  });
}

}  // namespace robusta
