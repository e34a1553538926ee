/// Nesterov's accelerated gradient in the form of Sutskever, Martens, Dahl, Hinton, ICML 2013.
#pragma once

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct NesterovElement {
  static constexpr const char* kName = "Nesterov";
  static constexpr int kHistories = 1;
  static constexpr bool kMovesWithoutRate = false;
  NesterovElement(const UpdateTask& task, const RuleSettings&)
      : momentum(static_cast<T>(task.momentum)), rate(static_cast<T>(task.rate)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& h) const {
    const T before = h;
    h = momentum * h + rate * g;
    w -= (1 + momentum) * h - momentum * before;
  }
  T momentum, rate;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
