// All update rules in a GPU's memory: one fused pass, as on the host.
#include <algorithm>
#include <cassert>
#include <utility>

#include "device/gpu/for_each.h"
#include "solver/rules/adadelta.h"
#include "solver/rules/adagrad.h"
#include "solver/rules/adam.h"
#include "solver/rules/decayed_gradient.h"
#include "solver/rules/nesterov.h"
#include "solver/rules/rmsprop.h"
#include "solver/rules/sgd.h"

namespace robusta {
namespace {

template <template <typename> class Element>
struct UpdateEach {
  Element<float> element;
  DecayedGradient<float> decayed;
  const float* gradient;
  float *w, *h0, *h1;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float g = decayed(gradient[i], w[i]);
    if constexpr (Element<float>::kHistories == 1) {
      element(w[i], g, h0[i]);
    } else {
      element(w[i], g, h0[i], h1[i]);
    }
  }
};

template <template <typename> class Element>
UpdateEach<Element> each_of(const UpdateTask& task, const RuleSettings& settings) {
  assert(task.dtype == DType::kF32);
  return {Element<float>(task, settings),           DecayedGradient<float>(task),
          static_cast<const float*>(task.gradient), static_cast<float*>(task.weights),
          static_cast<float*>(task.history[0]),     static_cast<float*>(task.history[1])};
}

/// Parameters one after the other, as one range: most are too small for a launch of their own. By value a kernel takes
/// 4 KB.
constexpr size_t kMostTogether = 32;

template <template <typename> class Element>
struct UpdateTogether {
  UpdateEach<Element> each[kMostTogether];
  int64_t begin[kMostTogether + 1];  ///< of each in the range
  int count;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int found = 0;
    for (int end = count; end - found > 1;) {
      const int middle = (found + end) / 2;
      if (i >= begin[middle]) {
        found = middle;
      } else {
        end = middle;
      }
    }
    each[found](i - begin[found]);
  }
};

template <template <typename> class Element, size_t... Is>
UpdateTogether<Element> together(std::span<const UpdateTask> tasks, const RuleSettings& settings,
                                 std::index_sequence<Is...>) {
  UpdateTogether<Element> all{
      {each_of<Element>(tasks[std::min(Is, tasks.size() - 1)], settings)...}, {}, static_cast<int>(tasks.size())};
  for (size_t t = 0; t < tasks.size(); ++t) all.begin[t + 1] = all.begin[t] + tasks[t].count;
  return all;
}

template <template <typename> class Element>
void update_gpu(std::span<const UpdateTask> tasks, const RuleSettings& settings) {
  while (!tasks.empty()) {
    const auto some = tasks.first(std::min(tasks.size(), kMostTogether));
    const auto body = together<Element>(some, settings, std::make_index_sequence<kMostTogether>());
    static_assert(sizeof body <= 4000);
    for_each(some[0].stream, body.begin[some.size()], body);
    tasks = tasks.subspan(some.size());
  }
}

template <template <typename> class Element>
bool register_gpu_rule() {
  return register_device_rule(kGpuKind, Element<float>::kName, update_gpu<Element>);
}

[[maybe_unused]] const bool registered_rules =
    register_gpu_rule<SgdElement>() && register_gpu_rule<NesterovElement>() && register_gpu_rule<AdaGradElement>() &&
    register_gpu_rule<RmsPropElement>() && register_gpu_rule<AdaDeltaElement>() && register_gpu_rule<AdamElement>();

}  // namespace
}  // namespace robusta
