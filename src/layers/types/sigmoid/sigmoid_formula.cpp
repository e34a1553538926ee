// Sigmoid: y = 1 / (1 + e^-x), dy/dx = y (1 - y).

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct Sigmoid {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kTop; }
  ROBUSTA_GPU T value(T x) const { return Math::sigmoid(x); }
  ROBUSTA_GPU T slope(T y) const { return y * (1 - y); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("Sigmoid", Sigmoid, ResultLayer);

}  // namespace robusta
