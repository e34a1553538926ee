// ReLU6: y = min(max(x, 0), 6) (Krizhevsky 2010, "Convolutional deep belief networks on CIFAR-10"); dy/dx = 1 for
// 0 < x < 6, 0 else, as in PyTorch's ReLU6. Backward needs only y, so that x may be overwritten.

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct Relu6 {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kTop; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x < 0, 0, Math::select(x > 6, 6, x)); }
  ROBUSTA_GPU T slope(T y) const { return static_cast<T>((y > 0) & (y < 6)); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("ReLU6", Relu6);

}  // namespace robusta
