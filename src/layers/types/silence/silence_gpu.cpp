// Silence on the GPU: takes every bottom as it lies, in any layout and type, so that no reorder is planned for a blob
// that nobody reads.

#include "device/gpu/copy.h"
#include "layers/kit/booking.h"

namespace robusta {
namespace {

class SilenceGpu : public Kernel {
 public:
  explicit SilenceGpu(const KernelRequest& request) {
    for (const TensorDesc& bottom : request.bottoms) {
      booking_.bottom_layouts.push_back(bottom.layout);
      booking_.bottom_types.push_back(bottom.dtype);
    }
    book_reads_nothing(request.bottoms.size(), booking_);
  }
  std::string describe() const override { return "gpu"; }
  void forward(const KernelRun&) override {}
  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) gpu_fill_zero(run.stream, diff.data, diff.desc.bytes());
    }
  }
};

std::unique_ptr<Kernel> make_silence_gpu(const KernelRequest& request, std::string&) {
  return std::make_unique<SilenceGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Silence", "gpu", 10, make_silence_gpu);

}  // namespace robusta
