// Concat on the GPU, plain or channels last.
//
// One kernel copies up to 16 pieces, in units as wide as all pieces allow (backends/gpu/pieces.h). What a Split would
// add up of gradients is added while it is cut.

#include "layers/backends/gpu/pieces.h"
#include "layers/kit/booking.h"
#include "layers/types/concat/concat.h"

namespace robusta {
namespace {

class ConcatGpu : public Kernel {
 public:
  explicit ConcatGpu(const KernelRequest& request)
      : pieces_(request.tops, request.bottoms, request.layer<ConcatLayer>().axis(), request.bottoms,
                joined_type(request)) {
    booking_.bottom_types.assign(request.bottoms.size(), joined_type(request));
    booking_.top_types = {joined_type(request)};
    booking_.bottom_layouts = pieces_.layouts_of(request.bottoms);
    booking_.top_layouts = pieces_.layouts_of(request.tops);
    book_join(request.bottoms.size(), booking_);
    const bool adds = request.bottoms.size() > 1 && joined_type(request) != DType::kF64;
    booking_.top_diff_terms = adds ? pieces_.most_terms() : 1;
  }
  std::string describe() const override { return "gpu"; }
  void forward(const KernelRun& run) override { pieces_.join(run.stream, run.bottoms, run.tops[0]); }
  void backward(const KernelRun& run) override { pieces_.cut_sum(run.stream, run.top_diffs, run.bottom_diffs); }

 private:
  /// That of the bottoms where they agree, so that nothing is rounded on the way.
  static DType joined_type(const KernelRequest& request) {
    const DType first = request.bottoms[0].dtype;
    const auto same = [=](const TensorDesc& bottom) { return bottom.dtype == first; };
    return std::all_of(request.bottoms.begin(), request.bottoms.end(), same) ? first : request.dtype();
  }

  GpuPieces pieces_;
};

std::unique_ptr<Kernel> make_concat_gpu(const KernelRequest& request, std::string&) {
  return std::make_unique<ConcatGpu>(request);
}

}  // namespace

ROBUSTA_REGISTER_GPU_KERNEL("Concat", "gpu", 10, make_concat_gpu);

}  // namespace robusta
