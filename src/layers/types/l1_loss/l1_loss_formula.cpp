// L1Loss: L = sum |a - b| / N for N samples; dL/da = sign(a - b) / N = -dL/db (NVIDIA's fork, l1_loss_layer.cpp).

#include "layers/backends/regression_loss.h"

namespace robusta {
namespace {

template <typename Math>
struct AbsoluteDistance {
  using T = typename Math::T;
  ROBUSTA_GPU T value(T d) const { return Math::abs(d); }
  ROBUSTA_GPU T slope(T d) const { return static_cast<T>((d > 0) - (d < 0)); }
};

}  // namespace

ROBUSTA_REGISTER_REGRESSION_LOSS("L1Loss", AbsoluteDistance);

}  // namespace robusta
