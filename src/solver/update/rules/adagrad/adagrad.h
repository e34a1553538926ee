/// AdaGrad: Duchi, Hazan, Singer, JMLR 2011. The history is the sum of the squared gradients.
#pragma once

#include <cmath>

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdaGradElement {
  static constexpr const char* kName = "AdaGrad";
  static constexpr int kHistories = 1;
  static constexpr bool kMovesWithoutRate = true;
  AdaGradElement(const UpdateTask& task, const RuleSettings& settings)
      : rate(static_cast<T>(task.rate)), delta(static_cast<T>(settings.delta)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& h) const {
    h += g * g;
    w -= rate * g / (std::sqrt(h) + delta);
  }
  T rate, delta;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
