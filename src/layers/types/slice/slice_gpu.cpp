// Slice on the GPU, plain or channels last.

#include "layers/backends/gpu/pieces.h"
#include "layers/kit/kernel.h"
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
    booking_.bottom_layouts = {pieces_.layout_of(request.bottoms[0])};
    for (const TensorDesc& top : request.tops) booking_.top_layouts.push_back(pieces_.layout_of(top));
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;
    if (request.tops.size() == 1) {
      booking_.forward_aliases = {{0, 0, true}};
      booking_.backward_aliases = {{0, 0, true}};
    }
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
