// Sigmoid: y = 1 / (1 + e^-x).

#include <cmath>

#include "layers/kit/elementwise.h"
#include "layers/kit/vector_math.h"

namespace robusta {
namespace {

class SigmoidLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
};

template <typename T>
struct SigmoidExact {
  explicit SigmoidExact(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  T value(T x) const { return T{0.5} * std::tanh(T{0.5} * x) + T{0.5}; }
  T slope(T y) const { return y * (1 - y); }
};

struct SigmoidFast {
  explicit SigmoidFast(const KernelRequest&) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  float value(float x) const { return vec::sigmoid(x); }
  float slope(float y) const { return y * (1.0f - y); }
};

template <typename T>
using SigmoidReference = UnaryReference<T, SigmoidExact<T>>;

std::unique_ptr<Kernel> make_sigmoid_native(const KernelRequest& request, std::string& why_not) {
  return make_unary_native<SigmoidFast>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("Sigmoid", SigmoidLayer);
ROBUSTA_REGISTER_REFERENCE("Sigmoid", SigmoidReference);
ROBUSTA_REGISTER_KERNEL("Sigmoid", "native", 10, make_sigmoid_native);

}  // namespace robusta
