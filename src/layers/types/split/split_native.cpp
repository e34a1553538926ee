// Split for any layout; all gradients are added in one pass.

#include <algorithm>

#include "layers/kit/elementwise.h"
#include "layers/kit/weighted_sum.h"
#include "layers/types/split/split.h"

namespace robusta {
namespace {

class SplitNative : public Kernel {
 public:
  explicit SplitNative(const KernelRequest& request) : terms_(request.tops.size()) {
    count_ = book_shared_layout(request, true, booking_);
    booking_.reads_bottoms = {false};
    booking_.takes_missing_top_diffs = true;
    const int tops = static_cast<int>(request.tops.size());
    for (int top = 0; top < tops; ++top) booking_.forward_aliases.push_back({0, top, true});
    // The first two terms of the sum: see weighted_sum.
    for (int top = 0; top < std::min(tops, 2); ++top) booking_.backward_aliases.push_back({top, 0, false});
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    for (const Tensor& top : run.tops) copy_unless_shared(run.bottoms[0], top);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    size_t present = 0;
    for (const Tensor& diff : run.top_diffs) {
      if (diff) terms_[present++] = {diff.as<float>()};
    }
    weighted_sum({terms_.data(), present}, run.bottom_diffs[0].as<float>(), count_);
  }

 private:
  std::vector<SumTerm> terms_;  // rewritten by each run; here because a run allocates nothing
  int64_t count_;
};

std::unique_ptr<Kernel> make_split_native(const KernelRequest& request, std::string& why_not) {
  if (!is_f32(request, why_not)) return nullptr;
  return std::make_unique<SplitNative>(request);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Split", "native", 10, make_split_native);

}  // namespace robusta
