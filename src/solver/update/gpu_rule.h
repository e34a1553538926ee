/// Update rules in a GPU's memory: one fused pass, as on the host, over many parameters in one launch. For files named
/// *_gpu.cpp.
#pragma once

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "device/gpu/pack.h"
#include "solver/update/rule_element.h"
#include "solver/update/trust_gpu.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// One parameter, by packs of kWidth elements, the last of which may be short.
template <template <typename> class Element>
struct UpdateEach {
  static constexpr int kWidth = kPackWidth<float>;
  static constexpr int kHistories = Element<float>::kTraits.histories;
  Element<float> element;
  DecayedGradient<float> decayed;
  const float* gradient;
  float *w, *h[std::max(kHistories, 1)];
  int64_t count, in_packs;  ///< the first `in_packs` elements are whole packs
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t first = pack * kWidth;
    if (first < in_packs) return run<kWidth>(first, std::make_integer_sequence<int, kHistories>());
    ROBUSTA_NO_UNROLL for (int64_t i = first; i < first + kWidth && i < count; ++i) {
      run<1>(i, std::make_integer_sequence<int, kHistories>());
    }
  }

 private:
  template <int N, int... I>
  ROBUSTA_GPU void run(int64_t i, std::integer_sequence<int, I...>) const {
    const Pack<float, N> gradients = load_pack<N>(gradient + i);
    Pack<float, N> weights = load_pack<N>(w + i);
    [[maybe_unused]] Pack<float, N> histories[] = {load_pack<N>(h[I] + i)..., {}};
    for (int k = 0; k < N; ++k) {
      const float before = weights.at[k];
      element(weights.at[k], decayed(gradients.at[k], before), histories[I].at[k]...);
      weights.at[k] -= decayed.shrinkage * before;
    }
    store_pack(weights, w + i);
    (store_pack(histories[I], h[I] + i), ...);
  }
};

template <template <typename> class Element>
UpdateEach<Element> update_each(const UpdateTask& task, const caffe::SolverParameter& settings) {
  using Each = UpdateEach<Element>;
  assert(task.dtype == DType::kF32);
  Each each{.element = Element<float>(task, settings),
            .decayed = DecayedGradient<float>(task, Element<float>::kTraits),
            .gradient = static_cast<const float*>(task.gradient),
            .w = static_cast<float*>(task.weights),
            .h = {},
            .count = task.count,
            .in_packs = 0};
  if constexpr (Element<float>::kTraits.adapts) {
    if (task.adapts) each.element.rate = 0;
  }
  bool packs = on_packs(each.gradient, each.w);
  for (int i = 0; i < Each::kHistories; ++i) {
    each.h[i] = static_cast<float*>(task.history[static_cast<size_t>(i)]);
    packs = packs && on_packs(each.h[i]);
  }
  if (packs) each.in_packs = task.count / Each::kWidth * Each::kWidth;
  return each;
}

/// Parameters one after the other, as one range of packs: most are too small for a launch of their own. By value a
/// kernel takes 4 KB.
template <template <typename> class Element>
struct UpdateTogether {
  static constexpr size_t kMost =
      std::min<size_t>(32, (4000 - 2 * sizeof(int64_t)) / (sizeof(UpdateEach<Element>) + sizeof(int64_t)));
  UpdateEach<Element> each[kMost];
  int64_t begin[kMost + 1];  ///< of each in the range
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
  void touches(int64_t, KernelArrays& to) const {
    for (int i = 0; i < count; ++i) {
      to.add(each[i].gradient, each[i].count);
      to.add(each[i].w, each[i].count, 2);
      for (int h = 0; h < UpdateEach<Element>::kHistories; ++h) to.add(each[i].h[h], each[i].count, 2);
    }
  }
};

template <template <typename> class Element, size_t... I>
UpdateTogether<Element> update_together(std::span<const UpdateTask> tasks, const caffe::SolverParameter& settings,
                                        std::index_sequence<I...>) {
  UpdateTogether<Element> all{
      {update_each<Element>(tasks[std::min(I, tasks.size() - 1)], settings)...}, {}, static_cast<int>(tasks.size())};
  constexpr int64_t kWidth = UpdateEach<Element>::kWidth;
  for (size_t t = 0; t < tasks.size(); ++t) all.begin[t + 1] = all.begin[t] + (tasks[t].count + kWidth - 1) / kWidth;
  return all;
}

template <template <typename> class Element>
void update_on_gpu(std::span<const UpdateTask> tasks, const caffe::SolverParameter& settings) {
  constexpr size_t kMost = UpdateTogether<Element>::kMost;
  while (!tasks.empty()) {
    const auto some = tasks.first(std::min(tasks.size(), kMost));
    const auto body = update_together<Element>(some, settings, std::make_index_sequence<kMost>());
    static_assert(sizeof body <= 4000);
    for_each(some[0].stream, body.begin[some.size()], body);
    if constexpr (Element<float>::kTraits.adapts) {
      for (const UpdateTask& task : some) {
        if (!task.adapts) continue;
        step_by_trust_on_gpu<Element>(Element<float>(task, settings), task,
                                      std::make_integer_sequence<int, Element<float>::kTraits.histories>());
      }
    }
    tasks = tasks.subspan(some.size());
  }
}

/// The same from a table in the device's memory. A chunk is of one parameter, so that its threads find out which with
/// one look.
template <template <typename> class Element>
struct UpdateFromTable {
  static constexpr int64_t kChunkPacks = 1024;
  using Each = UpdateEach<Element>;
  const Each* each;
  TabledRule::Table table;
  ROBUSTA_GPU void operator()(int64_t i) const {
    if (!*table.active) return;
    const int64_t chunk = i / kChunkPacks;
    const int32_t task = table.owners[chunk];
    const Each& own = each[task];
    const int64_t pack = i - table.firsts[task] * kChunkPacks;
    if (pack * Each::kWidth < own.count) own(pack);
  }
  void touches(int64_t, KernelArrays& to) const {
    for (int t = 0; t < table.tasks; ++t) touches(static_cast<const Each*>(table.entries_on_host)[t], to);
  }

 private:
  static void touches(const Each& own, KernelArrays& to) {
    to.add(own.gradient, own.count);
    to.add(own.w, own.count, 2);
    for (int h = 0; h < Each::kHistories; ++h) to.add(own.h[h], own.count, 2);
  }
};

template <template <typename> class Element>
bool register_table(const char* type) {
  using Body = UpdateFromTable<Element>;
  using Each = UpdateEach<Element>;
  if constexpr (!Element<float>::kTraits.adapts) {
    const auto fill = [](const UpdateTask& task, const caffe::SolverParameter& settings, void* entry) {
      new (entry) Each(update_each<Element>(task, settings));
    };
    const auto launch = [](Stream* stream, const TabledRule::Table& table) {
      for_each(stream, table.chunks * Body::kChunkPacks, Body{static_cast<const Each*>(table.entries), table});
    };
    return register_tabled_rule(kGpuKind, type, {sizeof(Each), Body::kChunkPacks * Each::kWidth, fill, launch});
  }
  return true;
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
