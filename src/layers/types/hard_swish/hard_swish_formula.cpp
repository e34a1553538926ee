// HardSwish: y = x min(max(x + 3, 0), 6) / 6 (Howard et al. 2019, "Searching for MobileNetV3"; Synopsys' Caffe has the
// layer). dy/dx = 0 for x <= -3, 1 for x >= 3, (2 x + 3) / 6 between, as in PyTorch's Hardswish.

#include "layers/backends/formula.h"

namespace robusta {
namespace {

template <typename Math>
struct HardSwish {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kBottom; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x <= -3, 0, Math::select(x >= 3, x, x * (x + 3) / 6)); }
  ROBUSTA_GPU T slope(T x) const { return Math::select(x <= -3, 0, Math::select(x >= 3, 1, (2 * x + 3) / 6)); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("HardSwish", HardSwish);

}  // namespace robusta
