// ReLU6: y = min(max(x, 0), 6) (Krizhevsky 2010, "Convolutional deep belief networks on CIFAR-10"); dy/dx = 1 for
// 0 < x < 6, 0 else, as in PyTorch's ReLU6. Backward needs only y, so that x may be overwritten.

#include "layers/backends/formula.h"
#include "layers/kit/in_place.h"

namespace robusta {
namespace {

class Relu6Layer : public ElementwiseLayer, public ReadsItsBlob, public LeavesContent {
 public:
  using ElementwiseLayer::ElementwiseLayer;
  BackwardRead backward_read() const override { return {.top = false, .needs = Content::kAll}; }
  Content leaves() const override { return Content::kAll; }
};

template <typename Math>
struct Relu6 {
  using T = typename Math::T;
  static SlopeFrom slope_from() { return SlopeFrom::kTop; }
  ROBUSTA_GPU T value(T x) const { return Math::select(x < 0, 0, Math::select(x > 6, 6, x)); }
  ROBUSTA_GPU T slope(T y) const { return static_cast<T>((y > 0) & (y < 6)); }
};

}  // namespace

ROBUSTA_REGISTER_FORMULA("ReLU6", Relu6, Relu6Layer);

}  // namespace robusta
