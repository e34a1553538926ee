// ELU: kernels of the CPU.

#include "layers/types/elu/elu.h"

#include <cmath>

#include "layers/kit/elementwise.h"
#include "layers/kit/vector_math.h"

namespace robusta {
namespace {

template <typename T>
class EluExact {
 public:
  explicit EluExact(const KernelRequest& request)
      : from_top_(request.layer<EluLayer>().sign_survives()),
        lambda_(request.layer<EluLayer>().lambda()),
        scale_(lambda_ * static_cast<T>(request.layer<EluLayer>().alpha())) {}
  SlopeFrom slope_from() const { return from_top_ ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  T value(T x) const { return x > 0 ? lambda_ * x : scale_ * std::expm1(x); }
  T slope(T s) const {
    if (s > 0) return lambda_;
    return from_top_ ? s + scale_ : scale_ * std::exp(s);
  }

 private:
  bool from_top_;
  T lambda_, scale_;
};

class EluFast {
 public:
  explicit EluFast(const KernelRequest& request)
      : lambda_(request.layer<EluLayer>().lambda()), scale_(lambda_ * request.layer<EluLayer>().alpha()) {}
  SlopeFrom slope_from() const { return SlopeFrom::kTop; }
  float value(float x) const {
    const float below = scale_ * vec::expm1(x > 0 ? 0.0f : x);
    return x > 0 ? lambda_ * x : below;
  }
  float slope(float y) const { return y > 0 ? lambda_ : y + scale_; }

 private:
  float lambda_, scale_;
};

template <typename T>
using EluReference = UnaryReference<T, EluExact<T>>;

std::unique_ptr<Kernel> make_elu_native(const KernelRequest& request, std::string& why_not) {
  if (!request.layer<EluLayer>().sign_survives()) {
    why_not = "needs alpha >= 0 and lambda > 0, so that the result has the sign of the argument";
    return nullptr;
  }
  return make_unary_native<EluFast>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("ELU", EluLayer);
ROBUSTA_REGISTER_REFERENCE("ELU", EluReference);
ROBUSTA_REGISTER_KERNEL("ELU", "native", 10, make_elu_native);

}  // namespace robusta
