// Split: every top is the bottom; the gradient is the sum of the tops' gradients.
//
// The net puts one wherever a blob has several readers, so that each version of a blob has one. Tops share the bottom's
// memory as a rule, and forward then does nothing.

#include "layers/types/split/split.h"

#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

template <typename T>
class SplitReference : public Kernel {
 public:
  explicit SplitReference(const KernelRequest& request) { book_branches(request.tops.size(), 1, booking_); }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    for (const Tensor& top : run.tops) copy_unless_shared(run.bottoms[0], top);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    T* dx = run.bottom_diffs[0].as<T>();
    parallel_for(run.bottom_diffs[0].count(), kElementwiseGrain, [&](int64_t i) {
      T sum = 0;
      for (const Tensor& diff : run.top_diffs) {
        if (diff) sum += diff.as<T>()[i];
      }
      dx[i] = sum;
    });
  }
};

}  // namespace

ROBUSTA_REGISTER_LAYER("Split", SplitLayer);
ROBUSTA_REGISTER_REFERENCE("Split", SplitReference);

}  // namespace robusta
