// AbsVal: y = |x|, dy/dx = sign(x), 0 at 0.

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct AbsVal {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::abs(x); }
  ROBUSTA_GPU T slope(T x) const { return static_cast<T>((x > 0) - (x < 0)); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("AbsVal", AbsVal);

}  // namespace robusta
