// InnerProduct on the GPU, on plain arrays: three matrix products, and our own kernels for the bias.

#include "device/gpu/reduce.h"
#include "layers/gpu_elementwise.h"
#include "layers/inner_product/inner_product.h"
#include "ops/gemm_gpu.h"

namespace robusta {
namespace {

struct AddBias {
  const float* bias;
  float* y;
  int64_t outputs;
  ROBUSTA_GPU void operator()(int64_t i) const { y[i] += bias[i % outputs]; }
};

struct BiasGradient {
  using Sum = float;
  const float* dy;
  float* db;
  int64_t outputs;
  bool add;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum term(int64_t row, int64_t output) const { return dy[row * outputs + output]; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU void store(int64_t output, Sum sum) const { db[output] = add ? db[output] + sum : sum; }
};

class InnerProductGpu : public Kernel {
 public:
  explicit InnerProductGpu(const KernelRequest& request) {
    const auto& layer = request.layer<InnerProductLayer>();
    rows_ = layer.rows();
    inputs_ = layer.inputs();
    outputs_ = layer.outputs();
    transposed_ = layer.transposed();
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
    booking_.backward_scratch = reduce_columns_scratch<BiasGradient>(rows_, outputs_);
  }
  std::string describe() const override { return "gpu gemm"; }

  void forward(const KernelRun& run) override {
    float* y = run.tops[0].as<float>();
    gpu_gemm(run.stream, Op::kPlain, transposed_ ? Op::kPlain : Op::kTransposed, rows_, outputs_, inputs_, 1.0f,
             run.bottoms[0].as<float>(), run.params[0]->tensor().as<float>(), 0.0f, y);
    if (run.params.size() < 2) return;
    for_each(run.stream, rows_ * outputs_, AddBias{run.params[1]->tensor().as<float>(), y, outputs_});
  }

  void backward(const KernelRun& run) override {
    const float* dy = run.top_diffs[0].as<float>();
    if (run.params[0]->learns) weight_gradient(run, dy);
    if (run.params.size() > 1 && run.params[1]->learns) {
      reduce_columns(run.stream, rows_, outputs_, run.scratch,
                     BiasGradient{dy, run.params[1]->gradient().as<float>(), outputs_, run.accumulate[1] != 0});
    }
    if (run.bottom_diffs[0]) {
      gpu_gemm(run.stream, Op::kPlain, transposed_ ? Op::kTransposed : Op::kPlain, rows_, inputs_, outputs_, 1.0f, dy,
               run.params[0]->tensor().as<float>(), 0.0f, run.bottom_diffs[0].as<float>());
    }
  }

 private:
  void weight_gradient(const KernelRun& run, const float* dy) const {
    const float* x = run.bottoms[0].as<float>();
    const float beta = run.accumulate[0] ? 1.0f : 0.0f;
    float* dw = run.params[0]->gradient().as<float>();
    if (transposed_) {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, inputs_, outputs_, rows_, 1.0f, x, dy, beta, dw);
    } else {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, outputs_, inputs_, rows_, 1.0f, dy, x, beta, dw);
    }
  }

  int64_t rows_, inputs_, outputs_;
  bool transposed_;
};

std::unique_ptr<Kernel> make_inner_product_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<InnerProductGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("InnerProduct", "gpu", 10, make_inner_product_gpu);

}  // namespace robusta
