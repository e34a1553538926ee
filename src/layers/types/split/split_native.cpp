// Split for any layout; the gradients are added in one pass, each read once and in one order, hence with one result.

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/weighted_sum.h"
#include "layers/types/split/split.h"

namespace robusta {
namespace {

template <typename Stored>
class SplitNative : public Kernel {
 public:
  explicit SplitNative(const KernelRequest& request) : terms_(request.tops.size()) {
    count_ = book_shared_layout(request, true, booking_);
    // See weighted_sum.
    book_branches(request.tops.size(), 2, booking_);
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    for (const Tensor& top : run.tops) copy_unless_shared(run.bottoms[0], top);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    size_t present = 0;
    for (const Tensor& diff : run.top_diffs) {
      if (diff) terms_[present++] = {diff.as<Stored>()};
    }
    weighted_sum<Stored>({terms_.data(), present}, run.bottom_diffs[0].as<Stored>(), count_);
  }

 private:
  std::vector<SumTerm<Stored>> terms_;  // rewritten by each run; here because a run allocates nothing
  int64_t count_;
};

std::unique_ptr<Kernel> make_split_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  return with_f32_or_bf16(request.dtype(), [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<SplitNative<decltype(stored)>>(request);
  });
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Split", "native", 10, make_split_native);

}  // namespace robusta
