/// The GPU's kernel of layers that only pass their values on (alias_kernel.h). For files named *_gpu.cpp.
#pragma once

#include <cassert>

#include "device/gpu/copy.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Makes both the same unless the planner has put them into the same memory. REQUIRES: equal sizes and layouts.
inline void gpu_copy_unless_shared(Stream* stream, const Tensor& from, const Tensor& to) {
  gpu_copy(stream, to.data, from.data, to.desc.bytes());
}

class AliasGpu : public Kernel {
 public:
  AliasGpu(const KernelRequest& request, bool any_layout) {
    assert(request.bottoms.size() == 1 && request.tops.size() == 1);
    assert(request.bottoms[0].count() == request.tops[0].count());
    if (any_layout) book_shared_layout(request, true, booking_);
    booking_.bottom_types = booking_.top_types = {request.bottoms[0].dtype};
    book_reads_nothing(1, booking_);
    book_same_content(booking_);
  }
  std::string describe() const override { return "gpu"; }
  void forward(const KernelRun& run) override { gpu_copy_unless_shared(run.stream, run.bottoms[0], run.tops[0]); }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) gpu_copy_unless_shared(run.stream, run.top_diffs[0], run.bottom_diffs[0]);
  }
};

/// One bottom, one top of as many elements of any type. `any_layout`: takes the bottom as it lies (the shapes must then
/// be equal).
inline std::unique_ptr<Kernel> make_gpu_alias(const KernelRequest& request, bool any_layout) {
  return std::make_unique<AliasGpu>(request, any_layout);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
