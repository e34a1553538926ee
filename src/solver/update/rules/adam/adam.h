/// Adam: Kingma and Ba, ICLR 2015, in the order of the end of its section 2: the correction of the bias is folded into
/// the rate, so delta is added to the uncorrected root. Decay is part of the gradient (L2, not decoupled).
#pragma once

#include <cmath>

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <typename T>
struct AdamElement {
  static constexpr const char* kName = "Adam";
  static constexpr int kHistories = 2;
  static constexpr bool kMovesWithoutRate = true;
  AdamElement(const UpdateTask& task, const RuleSettings& settings)
      : beta1(static_cast<T>(task.momentum)),
        beta2(static_cast<T>(settings.keep)),
        delta(static_cast<T>(settings.delta)) {
    const double t = static_cast<double>(task.iteration + 1);
    const double correction = std::sqrt(1 - std::pow(settings.keep, t)) / (1 - std::pow(task.momentum, t));
    rate = static_cast<T>(task.rate * correction);
  }
  ROBUSTA_GPU void operator()(T& w, T g, T& mean, T& squares) const {
    mean = beta1 * mean + (1 - beta1) * g;
    squares = beta2 * squares + (1 - beta2) * g * g;
    w -= rate * mean / (std::sqrt(squares) + delta);
  }
  T beta1, beta2, delta, rate;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
