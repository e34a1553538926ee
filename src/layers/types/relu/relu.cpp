// ReLU: y = max(0, x) + negative_slope * min(0, x).

#include "base/parallel.h"
#include "layers/kit/kernel.h"
#include "layers/types/relu/relu.h"

namespace robusta {
namespace {

/// Works on any shape; backward needs only y, because y > 0 exactly where x > 0 when the slope is not negative.
template <typename T>
class ReluReference : public Kernel {
 public:
  explicit ReluReference(const KernelRequest& request) : slope_(static_cast<T>(request.layer<ReluLayer>().slope())) {
    const bool sign_survives = slope_ >= 0;
    booking_.reads_bottoms = {!sign_survives};
    booking_.reads_tops = {sign_survives};
    booking_.repeatable = true;
    booking_.forward_aliases = {{0, 0, false}};
    booking_.backward_aliases = {{0, 0, false}};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    T* y = run.tops[0].as<T>();
    parallel_for(run.tops[0].count(), 1 << 14, [=, this](int64_t i) { y[i] = x[i] > 0 ? x[i] : slope_ * x[i]; });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T* sign = (booking_.reads_tops[0] ? run.tops[0] : run.bottoms[0]).as<T>();
    const T* dy = run.top_diffs[0].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(run.bottom_diffs[0].count(), 1 << 14,
                 [=, this](int64_t i) { dx[i] = sign[i] > 0 ? dy[i] : slope_ * dy[i]; });
  }

 private:
  T slope_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ReLU", ReluLayer);
ROBUSTA_REGISTER_REFERENCE("ReLU", ReluReference);

}  // namespace robusta
