// ReverseTime: shapes and the reference kernel.

#include "layers/types/reverse_time/reverse_time.h"

#include "base/str.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/elementwise.h"

namespace robusta {

std::vector<Shape> ReverseTimeLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& steps = bottoms[0];
  if (steps.axes() < 2 || bottoms[1].count() != steps[1]) {
    throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", steps.str(), " and bottom 1 ", bottoms[1].str()),
                "wanted are steps x sequences x anything, and the length of each sequence")
        .in_field("bottom");
  }
  reversal_ = {.steps = steps[0],
               .sequences = steps[1],
               .width = steps.count(2),
               .copies_rest = param().reverse_time_param().copy_remaining()};
  return {steps};
}

void throw_bad_length(double length, int64_t sequence, int64_t steps, const Pass& pass) {
  throw Error(ErrorKind::kData,
              str("length ", length, " of sequence ", pass.first_sample + static_cast<uint64_t>(sequence),
                  " is out of range 0..", steps),
              "bottom 1 holds the number of steps of each sequence: correct the data");
}

namespace {

template <typename T>
class ReverseTimeReference : public Kernel {
 public:
  explicit ReverseTimeReference(const KernelRequest& request)
      : reversal_(request.layer<ReverseTimeLayer>().reversal()) {
    booking_.reads_bottoms = {false, true};
    booking_.repeatable = true;
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T* lengths = run.bottoms[1].as<T>();
    for (int64_t n = 0; n < reversal_.sequences; ++n) {
      const int length = to_label(lengths[n]);
      if (length < 0 || length > reversal_.steps) throw_bad_length(lengths[n], n, reversal_.steps, *run.pass);
    }
    reverse(run, run.bottoms[0], run.tops[0]);
  }
  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) reverse(run, run.top_diffs[0], run.bottom_diffs[0]);
  }

 private:
  void reverse(const KernelRun& run, const Tensor& from, const Tensor& to) const {
    const T *x = from.as<T>(), *lengths = run.bottoms[1].as<T>();
    T* y = to.as<T>();
    parallel_for(to.count(), kElementwiseGrain, [=, this](int64_t i) {
      const int64_t source = reversal_.source_of(i, lengths);
      y[i] = source < 0 ? T{0} : x[source];
    });
  }

  const TimeReversal reversal_;
};

}  // namespace

ROBUSTA_REGISTER_LAYER("ReverseTime", ReverseTimeLayer);
ROBUSTA_REGISTER_REFERENCE("ReverseTime", ReverseTimeReference);

}  // namespace robusta
