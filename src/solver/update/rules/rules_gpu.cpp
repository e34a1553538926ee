// All update rules in a GPU's memory: one fused pass, as on the host.
#include <algorithm>
#include <cassert>
#include <utility>

#include "device/gpu/pack.h"
#include "solver/update/decayed_gradient.h"
#include "solver/update/rules/adadelta/adadelta.h"
#include "solver/update/rules/adagrad/adagrad.h"
#include "solver/update/rules/adam/adam.h"
#include "solver/update/rules/nesterov/nesterov.h"
#include "solver/update/rules/rmsprop/rmsprop.h"
#include "solver/update/rules/sgd/sgd.h"

namespace robusta {
namespace {

/// One parameter, by packs of kWidth elements, the last of which may be short.
template <template <typename> class Element>
struct UpdateEach {
  static constexpr int kWidth = kPackWidth<float>;
  static constexpr bool kTwo = Element<float>::kHistories == 2;
  Element<float> element;
  DecayedGradient<float> decayed;
  const float* gradient;
  float *w, *h0, *h1;
  int64_t count, in_packs;  ///< the first `in_packs` elements are whole packs
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * kWidth;
    if (first < in_packs) return run<kWidth>(first);
    ROBUSTA_NO_UNROLL for (int64_t i = first; i < first + kWidth && i < count; ++i) run<1>(i);
  }

 private:
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    const Pack<float, N> gradients = load_pack<N>(gradient + i);
    Pack<float, N> weights = load_pack<N>(w + i), first = load_pack<N>(h0 + i), second;
    if constexpr (kTwo) second = load_pack<N>(h1 + i);
    for (int k = 0; k < N; ++k) {
      const float g = decayed(gradients.at[k], weights.at[k]);
      if constexpr (kTwo) {
        element(weights.at[k], g, first.at[k], second.at[k]);
      } else {
        element(weights.at[k], g, first.at[k]);
      }
    }
    store_pack(weights, w + i);
    store_pack(first, h0 + i);
    if constexpr (kTwo) store_pack(second, h1 + i);
  }
};

template <template <typename> class Element>
UpdateEach<Element> each_of(const UpdateTask& task, const RuleSettings& settings) {
  assert(task.dtype == DType::kF32);
  const auto* gradient = static_cast<const float*>(task.gradient);
  auto *w = static_cast<float*>(task.weights), *h0 = static_cast<float*>(task.history[0]);
  auto* h1 = static_cast<float*>(task.history[1]);
  constexpr int64_t kWidth = UpdateEach<Element>::kWidth;
  const int64_t in_packs = on_packs(gradient, w, h0, h1) ? task.count / kWidth * kWidth : 0;
  return {Element<float>(task, settings), DecayedGradient<float>(task), gradient, w, h0, h1, task.count, in_packs};
}

/// Parameters one after the other, as one range of packs: most are too small for a launch of their own. By value a
/// kernel takes 4 KB.
constexpr size_t kMostTogether = 32;

template <template <typename> class Element>
struct UpdateTogether {
  UpdateEach<Element> each[kMostTogether];
  int64_t begin[kMostTogether + 1];  ///< of each in the range
  int count;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    int found = 0;
    for (int end = count; end - found > 1;) {
      const int middle = (found + end) / 2;
      if (pack >= begin[middle]) {
        found = middle;
      } else {
        end = middle;
      }
    }
    each[found](pack - begin[found]);
  }
};

template <template <typename> class Element, size_t... Is>
UpdateTogether<Element> together(std::span<const UpdateTask> tasks, const RuleSettings& settings,
                                 std::index_sequence<Is...>) {
  UpdateTogether<Element> all{
      {each_of<Element>(tasks[std::min(Is, tasks.size() - 1)], settings)...}, {}, static_cast<int>(tasks.size())};
  constexpr int64_t kWidth = UpdateEach<Element>::kWidth;
  for (size_t t = 0; t < tasks.size(); ++t) all.begin[t + 1] = all.begin[t] + (tasks[t].count + kWidth - 1) / kWidth;
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
