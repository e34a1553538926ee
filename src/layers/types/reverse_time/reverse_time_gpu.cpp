// ReverseTime on the GPU: a thread for each element. Lengths are f32: 16 bits do not hold all of them.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/types/reverse_time/reverse_time.h"

namespace robusta {
namespace {

template <typename T>
struct TakeEarlier {
  TimeReversal reversal;
  const float* lengths;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t source = reversal.source_of(i, lengths);
    y[i] = source < 0 ? static_cast<T>(0.0f) : x[source];
  }
};

template <typename T>
class ReverseTimeGpu : public Kernel {
 public:
  explicit ReverseTimeGpu(const KernelRequest& request)
      : reversal_(request.layer<ReverseTimeLayer>().reversal()), watch_(request, reversal_.steps + 1, 1, std::nullopt) {
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types = {dtype_of<T>()};
    booking_.reads_bottoms = {false, true};
    booking_.repeatable = true;
    booking_.forward_scratch = reduce_all_scratch<detail::FirstBadPick>(reversal_.sequences);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, reversal_.sequences, run.scratch,
               detail::FirstBadPick{watch_.reader(run.bottoms[1].as<float>())});
    reverse(run, run.bottoms[0], run.tops[0]);
  }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) reverse(run, run.top_diffs[0], run.bottom_diffs[0]);
  }
  void check(const Pass& pass) override {
    if (const auto bad = watch_.take()) throw_bad_length(bad->label, bad->place, reversal_.steps, pass);
  }

 private:
  void reverse(const KernelRun& run, const Tensor& from, const Tensor& to) const {
    for_each(run.stream, to.count(), TakeEarlier<T>{reversal_, run.bottoms[1].as<float>(), from.as<T>(), to.as<T>()});
  }

  const TimeReversal reversal_;
  LabelWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("ReverseTime", ReverseTimeGpu);

}  // namespace robusta
