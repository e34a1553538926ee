#include "net/plan/peak.h"

#include <algorithm>
#include <map>

namespace robusta {

Peak peak_of(const Plan& plan) {
  std::map<int, std::pair<int, int>> lives;  // storage -> first and last step
  for (const Value& value : plan.values) {
    if (value.first < 0) continue;
    auto [life, fresh] = lives.try_emplace(value.storage, value.first, value.last);
    if (fresh) continue;
    life->second = {std::min(life->second.first, value.first), std::max(life->second.second, value.last)};
  }
  std::vector<size_t> alive(plan.steps.size(), 0);
  for (const auto& [storage, life] : lives) {
    for (int s = life.first; s <= life.second; ++s) {
      alive[static_cast<size_t>(s)] += plan.values[static_cast<size_t>(storage)].bytes;
    }
  }
  Peak peak;
  if (alive.empty()) return peak;
  peak.step = static_cast<int>(std::max_element(alive.begin(), alive.end()) - alive.begin());
  for (const auto& [storage, life] : lives) {
    if (life.first <= peak.step && peak.step <= life.second) peak.values.push_back(storage);
  }
  std::stable_sort(peak.values.begin(), peak.values.end(), [&](int a, int b) {
    return plan.values[static_cast<size_t>(a)].bytes > plan.values[static_cast<size_t>(b)].bytes;
  });
  return peak;
}

}  // namespace robusta
