// LabelSpecificHardMargin on the GPU: a sum for each sample, then a thread for each score.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/types/label_specific_hard_margin/label_specific_hard_margin.h"

namespace robusta {
namespace {

/// A body of reduce_rows: a row is the scores of a sample.
template <typename T>
struct ScoreSums {
  using Sum = float;
  int64_t classes;
  const T* x;
  float* sums;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t n, int64_t c) const { return static_cast<float>(x[n * classes + c]); }
  ROBUSTA_GPU void store(int64_t n, Sum sum) const { sums[n] = sum; }
};

/// What is known of the samples of one run; `acts` false: nothing is changed.
template <typename T>
struct HardMarginOf {
  HardMargin<float> margin;
  bool acts;
  LabelReader label;
  Divisor by_classes;
};

template <typename T>
struct MoveScores : HardMarginOf<T> {
  const float* sums;
  const T* x;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t n = i;
    const int64_t c = this->by_classes.take_off(n);
    const bool own = this->acts && this->label(n) == c;
    y[i] = own ? static_cast<T>(this->margin.value(static_cast<float>(x[i]), sums[n])) : x[i];
  }
};

/// A body of reduce_all: by how much the scores of the labels have moved.
template <typename T>
struct MeanMove : HardMarginOf<T> {
  using Sum = double;
  const float* sums;
  const T* x;
  float* top;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t n) const {
    const int own = this->acts ? this->label(n) : LabelReader::kBad;
    if (own < 0) return 0;
    const float score = static_cast<float>(x[n * this->margin.classes + own]);
    return ::fabsf(this->margin.value(score, sums[n]) - score);
  }
  ROBUSTA_GPU void store(Sum sum) const {
    *top = this->margin.degrees(static_cast<float>(sum / static_cast<double>(this->margin.samples)));
  }
};

template <typename T>
struct MoveGradient : HardMarginOf<T> {
  const T* dy;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t n = i;
    const int64_t c = this->by_classes.take_off(n);
    const int own = this->acts ? this->label(n) : LabelReader::kBad;
    const float down = static_cast<float>(dy[i]);
    if (own < 0) {
      dx[i] = dy[i];
    } else {
      const float of_label = static_cast<float>(dy[n * this->margin.classes + own]);
      dx[i] = static_cast<T>(this->margin.gradient(c == own, down, of_label));
    }
  }
};

template <typename T>
class LabelSpecificHardMarginGpu : public Kernel {
 public:
  explicit LabelSpecificHardMarginGpu(const KernelRequest& request)
      : acts_(request.layer<LabelSpecificHardMarginLayer>().acts()),
        margin_{request.bottoms[0].shape[0], request.bottoms[0].shape.count(1),
                request.layer<LabelSpecificHardMarginLayer>().weight()},
        watch_(request, margin_.classes, 1, std::nullopt) {
    booking_.bottom_types = {dtype_of<T>(), DType::kF32};
    booking_.top_types.assign(request.tops.size(), DType::kF32);
    booking_.top_types[0] = dtype_of<T>();
    booking_.reads_bottoms = {false, acts_};
    booking_.forward_scratch = sums_bytes() + std::max(reduce_all_scratch<detail::FirstBadPick>(margin_.samples),
                                                       reduce_all_scratch<MeanMove<T>>(margin_.samples));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const T* x = run.bottoms[0].as<T>();
    const HardMarginOf<T> of = margin_of(run);
    auto* sums = static_cast<float*>(run.scratch);
    void* rest = static_cast<char*>(run.scratch) + sums_bytes();
    if (acts_) reduce_all(run.stream, margin_.samples, rest, detail::FirstBadPick{of.label});
    reduce_rows(run.stream, margin_.samples, margin_.classes, ScoreSums<T>{margin_.classes, x, sums});
    for_each(run.stream, margin_.samples * margin_.classes, MoveScores<T>{of, sums, x, run.tops[0].as<T>()});
    if (run.tops.size() < 2) return;
    reduce_all(run.stream, margin_.samples, rest, MeanMove<T>{of, sums, x, run.tops[1].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, margin_.samples * margin_.classes,
             MoveGradient<T>{margin_of(run), run.top_diffs[0].as<T>(), run.bottom_diffs[0].as<T>()});
  }

  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  /// A multiple of what sums in double are aligned to.
  size_t sums_bytes() const { return (static_cast<size_t>(margin_.samples) * sizeof(float) + 15) / 16 * 16; }

  HardMarginOf<T> margin_of(const KernelRun& run) const {
    return {margin_, acts_, watch_.reader(run.bottoms[1].as<float>()), Divisor(margin_.classes)};
  }

  bool acts_;
  HardMargin<float> margin_;
  LabelWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_STORED("LabelSpecificHardMargin", LabelSpecificHardMarginGpu);

}  // namespace robusta
