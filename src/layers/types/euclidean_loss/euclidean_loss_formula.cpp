// EuclideanLoss: L = sum (a - b)^2 / (2 N) for N samples; dL/da = (a - b) / N = -dL/db.

#include "layers/backends/regression_loss.h"

namespace robusta {
namespace {

template <typename Math>
struct HalfSquare {
  using T = typename Math::T;
  ROBUSTA_GPU T value(T d) const { return d * d / 2; }
  ROBUSTA_GPU T slope(T d) const { return d; }
};

}  // namespace

ROBUSTA_REGISTER_REGRESSION_LOSS("EuclideanLoss", HalfSquare);

}  // namespace robusta
