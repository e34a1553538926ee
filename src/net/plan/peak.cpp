// Bytes alive per step, and the step that has most of them.

#include "net/plan/peak.h"

#include <algorithm>
#include <map>

namespace robusta {

Peak peak_of(const Plan& plan) {
  std::map<ValueId, std::pair<StepId, StepId>> lives;  // storage -> first and last step
  for (const Value& value : plan.values) {
    if (!value.first || plan.values[value.storage].lent) continue;
    auto [life, fresh] = lives.try_emplace(value.storage, value.first, value.last);
    if (fresh) continue;
    life->second = {std::min(life->second.first, value.first), std::max(life->second.second, value.last)};
  }
  IdVector<StepId, size_t> alive(plan.steps.size(), 0);
  for (const auto& [storage, life] : lives) {
    for (StepId s = life.first; s <= life.second; ++s) {
      alive[s] += plan.values[storage].bytes;
    }
  }
  Peak peak;
  if (alive.empty()) return peak;
  peak.step = StepId(std::max_element(alive.begin(), alive.end()) - alive.begin());
  for (const auto& [storage, life] : lives) {
    if (life.first <= peak.step && peak.step <= life.second) peak.values.push_back(storage);
  }
  std::stable_sort(peak.values.begin(), peak.values.end(),
                   [&](ValueId a, ValueId b) { return plan.values[a].bytes > plan.values[b].bytes; });
  return peak;
}

}  // namespace robusta
