/// AdaDelta: Zeiler, arXiv 1212.5701. Histories: running means of the squared gradients and of the squared steps. The
/// learning rate multiplies the paper's step; 1 is the paper's rule.
#pragma once

#include <cmath>

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdaDeltaElement {
  static constexpr const char* kName = "AdaDelta";
  static constexpr int kHistories = 2;
  static constexpr bool kMovesWithoutRate = true;
  AdaDeltaElement(const UpdateTask& task, const RuleSettings& settings)
      : rate(static_cast<T>(task.rate)), keep(static_cast<T>(task.momentum)), delta(static_cast<T>(settings.delta)) {}
  ROBUSTA_GPU void operator()(T& w, T g, T& squares, T& steps) const {
    squares = keep * squares + (1 - keep) * g * g;
    const T step = g * std::sqrt((steps + delta) / (squares + delta));
    steps = keep * steps + (1 - keep) * step * step;
    w -= rate * step;
  }
  T rate, keep, delta;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
