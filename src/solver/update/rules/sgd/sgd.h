/// Stochastic gradient descent with momentum. The velocity holds the rate: a change of rate does not rescale it.
#pragma once

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct SgdElement {
  static constexpr const char* kName = "Sgd";
  static constexpr int kHistories = 1;
  static constexpr bool kMovesWithoutRate = false;
  SgdElement(const UpdateTask& task, const RuleSettings&)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& h) const {
    h = momentum * h + rate * g;
    w -= h;
  }
  T momentum, rate;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
