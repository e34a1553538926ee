// Slice on the GPU, plain or channels last.
//
// The reverse of Concat, by the same copies (backends/gpu/pieces.h). The tops keep the type of the bottom: nothing is
// computed, so nothing need be rounded.

#include "layers/backends/gpu/pieces.h"
#include "layers/kit/booking.h"
#include "layers/types/slice/slice.h"

namespace robusta {
namespace {

class SliceGpu : public Kernel {
 public:
  explicit SliceGpu(const KernelRequest& request)
      : pieces_(request.bottoms, request.tops, request.layer<SliceLayer>().axis(), request.bottoms,
                request.bottoms[0].dtype) {
    booking_.bottom_types = {request.bottoms[0].dtype};
    booking_.top_types.assign(request.tops.size(), request.bottoms[0].dtype);
    booking_.bottom_layouts = pieces_.layouts_of(request.bottoms);
    booking_.top_layouts = pieces_.layouts_of(request.tops);
    book_cut(request.tops.size(), booking_);
  }
  std::string describe() const override { return "gpu"; }
  void forward(const KernelRun& run) override { pieces_.cut(run.stream, run.bottoms[0], run.tops); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) pieces_.join(run.stream, run.top_diffs, run.bottom_diffs[0]);
  }

 private:
  GpuPieces pieces_;
};

std::unique_ptr<Kernel> make_slice_gpu(const KernelRequest& request, std::string&) {
  return std::make_unique<SliceGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Slice", "gpu", 10, make_slice_gpu);

}  // namespace robusta
