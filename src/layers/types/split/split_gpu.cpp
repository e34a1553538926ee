// Split on the GPU, for any layout; the gradients are added in one pass, each read once.

#include "layers/backends/gpu/alias.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/weighted_sum.h"
#include "layers/kit/booking.h"
#include "layers/types/split/split.h"

namespace robusta {
namespace {

template <typename T>
class SplitGpu : public Kernel {
 public:
  explicit SplitGpu(const KernelRequest& request) : terms_(request.tops.size()) {
    count_ = book_shared_layout(request, true, booking_);
    booking_.bottom_types = {dtype_of<T>()};
    booking_.top_types.assign(request.tops.size(), dtype_of<T>());
    // See gpu_weighted_sum.
    book_branches(request.tops.size(), 2, booking_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    for (const Tensor& top : run.tops) gpu_copy_unless_shared(run.stream, run.bottoms[0], top);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    size_t present = 0;
    for (const Tensor& diff : run.top_diffs) {
      if (diff) terms_[present++] = {diff.as<T>()};
    }
    T* dx = run.bottom_diffs[0].as<T>();
    if (present == 1 && terms_[0].data == dx) return;
    gpu_weighted_sum<T>(run.stream, {terms_.data(), present}, 1.0f, dx, count_);
  }

 private:
  std::vector<GpuSumTerm<T>> terms_;  // rewritten by each run; here because a run allocates nothing
  int64_t count_;
};

}  // namespace

// The bottom's own type: labels are not rounded.
ROBUSTA_REGISTER_GPU_AS_BOTTOM("Split", SplitGpu);

}  // namespace robusta
