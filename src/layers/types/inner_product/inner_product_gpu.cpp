// InnerProduct on the GPU, on plain arrays: three matrix products, and kernels of our own for the bias.
//
// Activations may be stored in 16 bits, weights and their gradients are f32: a pass rounds the weights into scratch
// memory, and the product for their gradient is summed and written in f32.

#include <algorithm>

#include "layers/backends/gpu/channels.h"
#include "layers/backends/gpu/weights.h"
#include "layers/types/inner_product/inner_product.h"
#include "ops/gemm_gpu.h"

namespace robusta {
namespace {

template <typename T>
class InnerProductGpu : public Kernel {
 public:
  explicit InnerProductGpu(const KernelRequest& request) : size_(request.layer<InnerProductLayer>().size()) {
    // Only the gradient of the weights needs the bottom.
    booking_.reads_bottoms = {request.backward && request.param_grads[0]};
    booking_.forward_scratch = stored_weights_bytes<T>(size_.inputs * size_.outputs);
    booking_.backward_scratch = std::max(booking_.forward_scratch, channel_sums_scratch<ChannelDot<T>>(view()));
  }
  std::string describe() const override { return "gpu gemm"; }

  void forward(const KernelRun& run) override {
    T* y = run.tops[0].as<T>();
    gpu_gemm(run.stream, Op::kPlain, size_.transposed ? Op::kPlain : Op::kTransposed, size_.rows, size_.outputs,
             size_.inputs, 1.0f, run.bottoms[0].as<T>(), weights(run), 0.0f, y);
    if (run.params.size() < 2) return;
    channel_affine<T>(run.stream, view(), y, nullptr, run.params[1]->tensor().as<float>(), y);
  }

  void backward(const KernelRun& run) override {
    const T* dy = run.top_diffs[0].as<T>();
    if (run.params[0]->learns) weight_gradient(run, dy);
    if (run.params.size() > 1 && run.params[1]->learns) {
      channel_sums(run.stream, view(), run.scratch,
                   ChannelDot<T>{dy, nullptr, run.params[1]->gradient().as<float>(), run.accumulate[1] != 0});
    }
    if (run.bottom_diffs[0]) {
      gpu_gemm(run.stream, Op::kPlain, size_.transposed ? Op::kTransposed : Op::kPlain, size_.rows, size_.inputs,
               size_.outputs, 1.0f, dy, weights(run), 0.0f, run.bottom_diffs[0].as<T>());
    }
  }

 private:
  /// Of the top: outputs are channels, side by side.
  ChannelView view() const { return {size_.rows, size_.outputs, 1}; }

  /// In the type of the activations, as a product takes both factors in one type.
  const T* weights(const KernelRun& run) const {
    return stored_weights<T>(run.stream, run.params[0]->tensor().as<float>(), size_.inputs * size_.outputs,
                             run.scratch);
  }

  /// dW = dy^T x, or its transpose, added to what is there if the parameter accumulates.
  void weight_gradient(const KernelRun& run, const T* dy) const {
    const T* x = run.bottoms[0].as<T>();
    const float beta = run.accumulate[0] ? 1.0f : 0.0f;
    float* dw = run.params[0]->gradient().as<float>();
    if (size_.transposed) {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, size_.inputs, size_.outputs, size_.rows, 1.0f, x, dy, beta, dw);
    } else {
      gpu_gemm(run.stream, Op::kTransposed, Op::kPlain, size_.outputs, size_.inputs, size_.rows, 1.0f, dy, x, beta, dw);
    }
  }

  const InnerProductSize size_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("InnerProduct", InnerProductGpu);

}  // namespace robusta
