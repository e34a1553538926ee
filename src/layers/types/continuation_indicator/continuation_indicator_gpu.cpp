// ContinuationIndicator on the GPU. The top is f32, as those who read it want it.

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/continuation_indicator/continuation_indicator.h"

namespace robusta {
namespace {

struct IndicateContinuation {
  int64_t first;  ///< of the second step
  float* y;
  ROBUSTA_GPU void operator()(int64_t i) const { y[i] = static_cast<float>(i >= first); }
};

class ContinuationIndicatorGpu : public Kernel {
 public:
  explicit ContinuationIndicatorGpu(const KernelRequest&) {
    booking_.top_types = {DType::kF32};
    booking_.repeatable = true;
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for_each(run.stream, run.tops[0].count(), IndicateContinuation{run.tops[0].shape()[1], run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}
};

std::unique_ptr<Kernel> make_continuation_indicator_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<ContinuationIndicatorGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("ContinuationIndicator", "gpu", 10, make_continuation_indicator_gpu);

}  // namespace robusta
