// ReLU for any layout.

#include "layers/kit/elementwise.h"
#include "layers/types/relu/relu.h"

namespace robusta {
namespace {

class ReluFast {
 public:
  explicit ReluFast(const KernelRequest& request) : slope_(request.layer<ReluLayer>().slope()) {}
  SlopeFrom slope_from() const { return slope_ >= 0 ? SlopeFrom::kTop : SlopeFrom::kBottom; }
  float value(float x) const { return x > 0 ? x : slope_ * x; }
  float slope(float s) const { return s > 0 ? 1.0f : slope_; }

 private:
  float slope_;
};

std::unique_ptr<Kernel> make_relu_native(const KernelRequest& request, std::string& why_not) {
  return make_unary_native<ReluFast>(request, why_not);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("ReLU", "native", 10, make_relu_native);

}  // namespace robusta
