// DetectionOutput on the GPU: a thread decodes each box that was found. The list of these is the host's and is written
// anew in every run, in memory that GPUs reach: nothing of the pass before is under way then, as the net has waited for
// the values that the list was made from. Everything is f32: 16 bits would move the boxes.

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/detection_output/detection_output.h"

namespace robusta {
namespace {

struct WriteDetection {
  DetectionCoding coding;
  const Detection* found;
  const float *codes, *scores, *prior_boxes;
  float* rows;
  ROBUSTA_GPU void operator()(int64_t row) const {
    coding.write(found[row], codes, scores, prior_boxes, rows + row * 7);
  }
};

class DetectionOutputGpu : public Kernel {
 public:
  explicit DetectionOutputGpu(const KernelRequest& request)
      : layer_(request.layer<DetectionOutputLayer>()), rows_(request.tops[0].shape[2]) {
    book_detection_output(request, booking_);
    booking_.bottom_types.assign(request.bottoms.size(), DType::kF32);
    booking_.top_types = {DType::kF32};
    booking_.host_work = true;
    Device& device = request.device ? *request.device : cpu_device();
    found_ = std::static_pointer_cast<Detection>(device.host_memory(static_cast<size_t>(rows_) * sizeof(Detection)));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const int64_t rows = std::min(rows_, static_cast<int64_t>(layer_.found().size()));
    std::copy_n(layer_.found().begin(), rows, found_.get());
    for_each(run.stream, rows,
             WriteDetection{.coding = layer_.coding(),
                            .found = found_.get(),
                            .codes = run.bottoms[0].as<float>(),
                            .scores = run.bottoms[1].as<float>(),
                            .prior_boxes = run.bottoms[2].as<float>(),
                            .rows = run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}

 private:
  const DetectionOutputLayer& layer_;
  int64_t rows_;
  std::shared_ptr<Detection> found_;
};

std::unique_ptr<Kernel> make_detection_output_gpu(const KernelRequest& request, std::string& why_not) {
  if (!gpu_takes(request, why_not)) return nullptr;
  return std::make_unique<DetectionOutputGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("DetectionOutput", "gpu", 10, make_detection_output_gpu);

}  // namespace robusta
