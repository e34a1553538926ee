/// What every update rule is given in place of the gradient.
#pragma once

#include "device/gpu/target.h"
#include "solver/update/update_rule.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// g = scale * gradient + l2 * w + l1 * sign(w), without a branch.
template <typename T>
struct DecayedGradient {
  explicit DecayedGradient(const UpdateTask& task)
      : scale(static_cast<T>(task.gradient_scale)),
        l2(task.l1 ? T(0) : static_cast<T>(task.decay)),
        l1(task.l1 ? static_cast<T>(task.decay) : T(0)) {}
  ROBUSTA_GPU T operator()(T gradient, T w) const {
    return scale * gradient + l2 * w + l1 * (static_cast<T>(w > 0) - static_cast<T>(w < 0));
  }
  T scale, l2, l1;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
