// TanH: y = tanh(x), dy/dx = 1 - y^2.

#include "layers/backends/formula.h"
#include "layers/kit/in_place.h"

namespace robusta {
namespace {

class TanhLayer : public ResultLayer, public LeavesContent {
 public:
  using ResultLayer::ResultLayer;
  Content leaves() const override { return Content::kSigns; }
};

template <typename Math>
struct Tanh {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kTop; }
  ROBUSTA_GPU T value(T x) const { return Math::tanh(x); }
  ROBUSTA_GPU T slope(T y) const { return 1 - y * y; }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("TanH", Tanh, TanhLayer);

}  // namespace robusta
