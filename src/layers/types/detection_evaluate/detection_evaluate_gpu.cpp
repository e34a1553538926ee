// DetectionEvaluate on the GPU: the host judges, since a few thousand boxes are no work, and nothing waits behind them.

#include "device/gpu/host_values.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/detection_evaluate/detection_evaluate.h"

namespace robusta {
namespace {

class DetectionEvaluateGpu : public Kernel {
 public:
  explicit DetectionEvaluateGpu(const KernelRequest& request) : layer_(request.layer<DetectionEvaluateLayer>()) {
    book_reads_nothing(2, booking_);
    booking_.bottom_types.assign(2, DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    const auto host = [&](int64_t numbers) {
      return std::static_pointer_cast<float>(device.host_memory(static_cast<size_t>(numbers) * sizeof(float)));
    };
    found_ = host(request.bottoms[0].count());
    truth_ = host(request.bottoms[1].count());
    rows_ = host(request.tops[0].count());
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const std::span<float> found{found_.get(), static_cast<size_t>(run.bottoms[0].count())},
        truth{truth_.get(), static_cast<size_t>(run.bottoms[1].count())};
    copy_to_host(run.stream, found.data(), run.bottoms[0].as<float>(), found.size_bytes());
    copy_to_host(run.stream, truth.data(), run.bottoms[1].as<float>(), truth.size_bytes());
    wait_for_copies(run.stream);
    const std::vector<Judged> rows = layer_.judge(found, truth, run.pass->first_sample);
    const size_t planned = std::min(rows.size(), static_cast<size_t>(run.tops[0].shape()[2]));
    for (size_t row = 0; row < planned; ++row) {
      std::copy(rows[row].begin(), rows[row].end(), rows_.get() + row * kJudgedNumbers);
    }
    copy_from_host(run.stream, run.tops[0].as<float>(), rows_.get(), planned * sizeof(Judged));
  }

  void backward(const KernelRun&) override {}

 private:
  const DetectionEvaluateLayer& layer_;
  std::shared_ptr<float> found_, truth_, rows_;  ///< the host's
};

std::unique_ptr<Kernel> make_detection_evaluate_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DetectionEvaluateGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DetectionEvaluate", "gpu", 10, make_detection_evaluate_gpu);

}  // namespace robusta
