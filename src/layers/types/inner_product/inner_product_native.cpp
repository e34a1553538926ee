// InnerProduct on plain f32 arrays: three matrix products, and our own loops for the bias.

#include "layers/kit/channel_rows.h"
#include "layers/kit/elementwise.h"
#include "layers/types/inner_product/few_rows.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm.h"

namespace robusta {
namespace {

class InnerProductNative : public Kernel {
 public:
  explicit InnerProductNative(const KernelRequest& request) {
    const auto& layer = request.layer<InnerProductLayer>();
    rows_ = layer.rows();
    inputs_ = layer.inputs();
    outputs_ = layer.outputs();
    transposed_ = layer.transposed();
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
  }
  std::string describe() const override { return "native gemm"; }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    const float *x = run.bottoms[0].as<float>(), *w = run.params[0]->tensor().as<float>();
    if (!transposed_ && pays_for_few_rows(rows_, inputs_)) {
      multiply_few_rows(x, w, rows_, outputs_, inputs_, y);
    } else {
      gemm(Op::kPlain, transposed_ ? Op::kPlain : Op::kTransposed, rows_, outputs_, inputs_, 1.0f, x, w, 0.0f, y);
    }
    if (run.params.size() > 1) bias_rows().affine(y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

  void backward(const KernelRun& run) override {
    const float* dy = run.top_diffs[0].as<float>();
    if (run.params[0]->learns) {
      weight_gradient(run.bottoms[0].as<float>(), dy, run.accumulate[0] ? 1.0f : 0.0f,
                      run.params[0]->gradient().as<float>());
    }
    if (run.params.size() > 1 && run.params[1]->learns) {
      bias_rows().sum(dy, run.accumulate[1] != 0, run.params[1]->gradient().as<float>());
    }
    if (run.bottom_diffs[0]) {
      gemm(Op::kPlain, transposed_ ? Op::kTransposed : Op::kPlain, rows_, inputs_, outputs_, 1.0f, dy,
           run.params[0]->tensor().as<float>(), 0.0f, run.bottom_diffs[0].as<float>());
    }
  }

 private:
  ChannelRows bias_rows() const { return {rows_, outputs_, 1}; }

  void weight_gradient(const float* x, const float* dy, float beta, float* dw) const {
    if (transposed_) {
      gemm(Op::kTransposed, Op::kPlain, inputs_, outputs_, rows_, 1.0f, x, dy, beta, dw);
    } else {
      gemm(Op::kTransposed, Op::kPlain, outputs_, inputs_, rows_, 1.0f, dy, x, beta, dw);
    }
  }

  int64_t rows_, inputs_, outputs_;
  bool transposed_;
};

std::unique_ptr<Kernel> make_inner_product_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<InnerProductNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("InnerProduct", "native", 10, make_inner_product_native);

}  // namespace robusta
