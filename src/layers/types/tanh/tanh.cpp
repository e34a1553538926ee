// TanH: y = tanh(x).

#include <cmath>

#include "layers/kit/elementwise.h"
#include "layers/kit/vector_math.h"

namespace robusta {
namespace {

class TanhLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
};

template <typename T>
struct TanhExact {
  explicit TanhExact(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  T value(T x) const { return std::tanh(x); }
  T slope(T y) const { return 1 - y * y; }
};

struct TanhFast {
  explicit TanhFast(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  float value(float x) const { return vec::tanh(x); }
  float slope(float y) const { return 1.0f - y * y; }
};

template <typename T>
using TanhReference = UnaryReference<T, TanhExact<T>>;

std::unique_ptr<Kernel> make_tanh_native(const KernelRequest& request, std::string& why_not) {
  return make_unary_native<TanhFast>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("TanH", TanhLayer);
ROBUSTA_REGISTER_REFERENCE("TanH", TanhReference);
ROBUSTA_REGISTER_KERNEL("TanH", "native", 10, make_tanh_native);

}  // namespace robusta
