// Reverse on the GPU: a thread for each element.

#include "device/gpu/for_each.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/kit/booking.h"
#include "layers/types/reverse/reverse.h"

namespace robusta {
namespace {

template <typename T>
struct TakeReversed {
  ReverseMap map;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const { y[i] = x[map(i)]; }
};

template <typename T>
class ReverseGpu : public Kernel {
 public:
  explicit ReverseGpu(const KernelRequest& request) : map_(request.layer<ReverseLayer>().map()) {
    booking_.bottom_types = booking_.top_types = {dtype_of<T>()};
    book_reads_nothing(1, booking_);
    booking_.repeatable = true;
  }
  std::string describe() const override { return "gpu"; }
  void forward(const KernelRun& run) override {
    for_each(run.stream, run.tops[0].count(), TakeReversed<T>{map_, run.bottoms[0].as<T>(), run.tops[0].as<T>()});
  }
  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, run.top_diffs[0].count(),
             TakeReversed<T>{map_, run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }

 private:
  const ReverseMap map_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("Reverse", ReverseGpu);

}  // namespace robusta
