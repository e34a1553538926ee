// InnerProduct on plain f32 arrays: few rows are multiplied by a loop of our own, and biases added and summed by
// vectorised ones.

#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/inner_product/few_rows.h"
#include "layers/types/inner_product/inner_product_products.h"

namespace robusta {
namespace {

class InnerProductNative : public InnerProductProducts<float> {
 public:
  using InnerProductProducts::InnerProductProducts;
  std::string describe() const override { return "native gemm"; }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    const float *x = run.bottoms[0].as<float>(), *w = run.params[0]->tensor().as<float>();
    if (!size_.transposed && pays_for_few_rows(size_.rows, size_.inputs)) {
      multiply_few_rows(x, w, size_.rows, size_.outputs, size_.inputs, y);
    } else {
      multiply(x, w, 0.0f, y);
    }
    if (run.params.size() > 1) bias_rows().affine(y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

 private:
  void bias_gradient(const float* dy, bool add, float* db) const override { bias_rows().sum(dy, add, db); }
  ChannelRows bias_rows() const { return {size_.rows, size_.outputs, 1}; }
};

std::unique_ptr<Kernel> make_inner_product_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  if (request.layer<InnerProductLayer>().group()) {
    why_not = "outputs shared out among ranks are the reference's";
    return nullptr;
  }
  if (request.layer<InnerProductLayer>().normalizes()) {
    why_not = "normalize is the reference's";
    return nullptr;
  }
  return std::make_unique<InnerProductNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "native", 10, make_inner_product_native);

}  // namespace robusta
