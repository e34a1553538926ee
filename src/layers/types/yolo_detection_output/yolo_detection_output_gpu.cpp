// YoloDetectionOutput and Yolov3DetectionOutput on the GPU, which copies what the host has found. The list is written
// anew in every run, in memory that GPUs reach: nothing of the pass before is under way then, as the net has waited for
// the values that the list was made from. The top is f32: 16 bits would move the boxes.

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/yolo_detection_output/yolo_detection_output.h"

namespace robusta {
namespace {

struct CopyNumber {
  const float* from;
  float* to;
  ROBUSTA_GPU void operator()(int64_t i) const { to[i] = from[i]; }
};

class YoloDetectionGpu : public Kernel {
 public:
  explicit YoloDetectionGpu(const KernelRequest& request)
      : layer_(request.layer<YoloDetectionLayer>()), rows_(request.tops[0].shape[2]) {
    book_yolo_detections(request, booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    found_ =
        std::static_pointer_cast<float>(device.host_memory(static_cast<size_t>(rows_ * kDetectionRow) * sizeof(float)));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(rows_, static_cast<int64_t>(layer_.rows().size()));
    for (int64_t row = 0; row < rows; ++row) {
      const DetectionRow& from = layer_.rows()[static_cast<size_t>(row)];
      std::copy(from.begin(), from.end(), found_.get() + row * kDetectionRow);
    }
    for_each(run.stream, rows * kDetectionRow, CopyNumber{found_.get(), run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}

 private:
  const YoloDetectionLayer& layer_;
  int64_t rows_;
  std::shared_ptr<float> found_;
};

std::unique_ptr<Kernel> make_yolo_detections_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<YoloDetectionGpu>(request);
}

[[maybe_unused]] const bool registered_yolo_detections_gpu =
    register_kernel({"YoloDetectionOutput", "gpu", kGpuKind, 10, make_yolo_detections_gpu}) &&
    register_kernel({"Yolov3DetectionOutput", "gpu", kGpuKind, 10, make_yolo_detections_gpu});

}  // namespace

}  // namespace robusta
