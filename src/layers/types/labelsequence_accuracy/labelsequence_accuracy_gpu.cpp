// LabelsequenceAccuracy on the GPU: a thread for the best class of each step, then one for each sequence.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/kit/booking.h"
#include "layers/types/labelsequence_accuracy/labelsequence_accuracy.h"

namespace robusta {
namespace {

template <typename T>
struct BestOfStep {
  LabelSequences s;
  const T* scores;
  int32_t* best;
  ROBUSTA_GPU void operator()(int64_t row) const { best[row] = s.best_class(scores, row); }
};

/// A body of reduce_all.
struct RightSequences {
  using Sum = int64_t;
  LabelSequences s;
  const int32_t* best;
  const float* labels;
  float* accuracy;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t sample) const { return s.is_right(sample, best, labels); }
  ROBUSTA_GPU void store(Sum sum) const { *accuracy = static_cast<float>(sum) / static_cast<float>(s.samples); }
};

/// For reduce_all: finds the first label that is neither a class nor the blank.
struct FirstBadOfSequences {
  using Sum = int64_t;
  LabelReader label;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return label(i) == LabelReader::kBad ? i : kNoPlace; }
  ROBUSTA_GPU void store(Sum first) const { label.report(first); }
};

template <typename T>
class LabelsequenceAccuracyGpu : public Kernel {
 public:
  explicit LabelsequenceAccuracyGpu(const KernelRequest& request)
      : s_(request.layer<LabelsequenceAccuracyLayer>().sequences()), watch_(request, s_.classes, s_.width, s_.blank) {
    book_scores<T>(request, booking_);
    book_reads_nothing(2, booking_);
    booking_.forward_scratch = rows_bytes() + std::max(reduce_all_scratch<RightSequences>(s_.samples),
                                                       reduce_all_scratch<FirstBadOfSequences>(s_.samples * s_.width));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const float* labels = run.bottoms[1].as<float>();
    auto* best = static_cast<int32_t*>(run.scratch);
    void* sums = static_cast<char*>(run.scratch) + rows_bytes();
    reduce_all(run.stream, s_.samples * s_.width, sums, FirstBadOfSequences{watch_.reader(labels)});
    for_each(run.stream, s_.rows(), BestOfStep<T>{s_, run.bottoms[0].as<T>(), best});
    reduce_all(run.stream, s_.samples, sums, RightSequences{s_, best, labels, run.tops[0].as<float>()});
  }

  void backward(const KernelRun&) override {}
  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  /// A multiple of what sums are aligned to.
  size_t rows_bytes() const { return (static_cast<size_t>(s_.rows()) * sizeof(int32_t) + 15) / 16 * 16; }

  const LabelSequences s_;
  LabelWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("LabelsequenceAccuracy", LabelsequenceAccuracyGpu);

}  // namespace robusta
