/// RMSProp: Tieleman and Hinton, lecture 6.5, 2012. The history is the running mean of the squared gradients.
#pragma once

#include <cmath>

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct RmsPropElement {
  static constexpr const char* kName = "RmsProp";
  static constexpr int kHistories = 1;
  static constexpr bool kMovesWithoutRate = true;
  RmsPropElement(const UpdateTask& task, const RuleSettings& settings)
      : rate(static_cast<T>(task.rate)), keep(static_cast<T>(settings.keep)), delta(static_cast<T>(settings.delta)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& h) const {
    h = keep * h + (1 - keep) * g * g;
    w -= rate * g / (std::sqrt(h) + delta);
  }
  T rate, keep, delta;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
