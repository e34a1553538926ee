// InnerProduct on plain f32 arrays: each of its products by the fastest way, and biases added and summed by vectorised
// loops.

#include <array>

#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/inner_product/inner_product_products.h"
#include "layers/types/inner_product/inner_product_ways.h"

namespace robusta {
namespace {

class InnerProductNative : public InnerProductProducts<float> {
 public:
  explicit InnerProductNative(const KernelRequest& request) : InnerProductProducts(request) {
    choose(InnerProductStep::kForward, request.tuner);
    booking_.forward_scratch = way(InnerProductStep::kForward).scratch_bytes(shape(InnerProductStep::kForward));
    if (!request.backward) return;
    if (request.bottom_grads[0]) choose(InnerProductStep::kDataGradient, request.tuner);
    if (request.param_grads[0]) choose(InnerProductStep::kWeightGradient, request.tuner);
  }

  std::string describe() const override {
    std::string text = "native gemm " + way(InnerProductStep::kForward).name();
    for (const ProductWay* back : std::span(ways_).subspan(1)) text += back ? " / " + back->name() : "";
    return text;
  }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    const float *x = run.bottoms[0].as<float>(), *w = run.params[0]->tensor().as<float>();
    multiply(InnerProductStep::kForward, x, w, false, y, run.scratch);
    if (run.params.size() > 1) bias_rows().affine(y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

 private:
  void choose(InnerProductStep step, Tuner* tuner) {
    ways_[static_cast<size_t>(step)] = &fastest_way(size_, step, tuner);
  }
  ProductShape shape(InnerProductStep step) const { return product_shape(size_, step); }
  const ProductWay& way(InnerProductStep step) const { return *ways_[static_cast<size_t>(step)]; }

  void multiply(InnerProductStep step, const float* a, const float* b, bool add, float* c,
                void* scratch) const override {
    way(step).run(shape(step), a, b, add, c, scratch);
  }
  void bias_gradient(const float* dy, bool add, float* db) const override { bias_rows().sum(dy, add, db); }
  ChannelRows bias_rows() const { return {size_.rows, size_.outputs, 1}; }

  std::array<const ProductWay*, 3> ways_ = {};  ///< by step; null: that step is not wanted
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
