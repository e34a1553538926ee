// EvalDetection on the GPU: the host judges, as nothing waits behind a score.

#include "device/gpu/host_values.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/eval_detection/eval_detection.h"

namespace robusta {
namespace {

class EvalDetectionGpu : public Kernel {
 public:
  explicit EvalDetectionGpu(const KernelRequest& request) : layer_(request.layer<EvalDetectionLayer>()) {
    book_reads_nothing(request.bottoms.size(), booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    const auto host = [&](int64_t numbers) {
      return std::static_pointer_cast<float>(device.host_memory(static_cast<size_t>(numbers) * sizeof(float)));
    };
    predictions_ = host(request.bottoms[0].count());
    truth_ = host(request.bottoms[1].count());
    top_ = host(request.tops[0].count());
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const std::span<float> predictions{predictions_.get(), static_cast<size_t>(run.bottoms[0].count())},
        truth{truth_.get(), static_cast<size_t>(run.bottoms[1].count())},
        top{top_.get(), static_cast<size_t>(run.tops[0].count())};
    copy_to_host(run.stream, predictions.data(), run.bottoms[0].as<float>(), predictions.size_bytes());
    copy_to_host(run.stream, truth.data(), run.bottoms[1].as<float>(), truth.size_bytes());
    wait_for_copies(run.stream);
    layer_.judge(predictions, truth, top);
    copy_from_host(run.stream, run.tops[0].as<float>(), top.data(), top.size_bytes());
  }

  void backward(const KernelRun&) override {}

 private:
  const EvalDetectionLayer& layer_;
  std::shared_ptr<float> predictions_, truth_, top_;  ///< the host's
};

std::unique_ptr<Kernel> make_eval_detection_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<EvalDetectionGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("EvalDetection", "gpu", 10, make_eval_detection_gpu);

}  // namespace robusta
