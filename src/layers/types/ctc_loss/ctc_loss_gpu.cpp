// CtcLoss on the GPU: a sum for each row of scores, a thread for the paths of each sample, and one for each element of
// the gradient. Scores are taken as they are stored.

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/backends/gpu/softmax.h"
#include "layers/backends/gpu/unary.h"
#include "layers/types/ctc_loss/ctc_loss.h"

namespace robusta {
namespace {

template <typename T>
using GpuPaths = CtcPaths<GpuMath, T, float>;

/// A body of reduce_rows: a row is the classes of a sample after a step.
template <typename T>
struct LogSums {
  using Sum = SoftmaxSum;
  SoftmaxSums<T> softmax;
  float* log_sums;
  ROBUSTA_GPU Sum zero() const { return softmax.zero(); }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return softmax.join(a, b); }
  ROBUSTA_GPU Sum term(int64_t row, int64_t c) const { return softmax.term(row, c); }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { log_sums[row] = sum.largest + ::logf(sum.sum); }
};

template <typename T>
struct RunPaths {
  GpuPaths<T> paths;
  bool gradient;
  ROBUSTA_GPU void operator()(int64_t sample) const { paths.run(sample, gradient); }
};

/// A body of reduce_all.
struct SumOfPaths {
  using Sum = double;
  const float* losses;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a + b; }
  ROBUSTA_GPU Sum term(int64_t sample) const { return losses[sample]; }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

template <typename T>
struct PathGradient {
  GpuPaths<T> paths;
  Divisor by_classes, by_samples;
  const float* loss_weight;
  float share;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t step = i;
    const int64_t c = by_classes.take_off(step), sample = by_samples.take_off(step);
    dx[i] = static_cast<T>(*loss_weight * share * paths.gradient(step, sample, c));
  }
};

template <typename T>
class CtcLossGpu : public Kernel {
 public:
  explicit CtcLossGpu(const KernelRequest& request)
      : layer_(request.layer<CtcLossLayer>()),
        e_(layer_.extents()),
        backward_(request.backward),
        watch_(request, e_.classes, e_.width, std::nullopt) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.saved_bytes = static_cast<size_t>(CtcMemory<float>(e_).bytes);
    booking_.forward_scratch = std::max(reduce_all_scratch<detail::FirstBadPick>(e_.samples * e_.width),
                                        reduce_all_scratch<SumOfPaths>(e_.samples));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    const CtcMemory<float> memory(e_, run.saved);
    const T* scores = run.bottoms[0].as<T>();
    const AxisView rows(Shape{e_.rows(), e_.classes}, 1);
    reduce_all(run.stream, e_.samples * e_.width, run.scratch,
               detail::FirstBadPick{watch_.reader(run.bottoms[1].as<float>())});
    reduce_rows(run.stream, e_.rows(), e_.classes, LogSums<T>{{ClassIndex(rows), scores, nullptr}, memory.log_sums});
    for_each(run.stream, e_.samples, RunPaths<T>{paths_of(run), backward_});
    reduce_all(run.stream, e_.samples, run.scratch,
               SumOfPaths{memory.losses, layer_.loss_divisor(run.pass->ranks), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, run.bottoms[0].count(),
             PathGradient<T>{.paths = paths_of(run),
                             .by_classes = Divisor(e_.classes),
                             .by_samples = Divisor(e_.samples),
                             .loss_weight = run.top_diffs[0].as<float>(),
                             .share = static_cast<float>(1 / layer_.gradient_divisor(run.pass->ranks)),
                             .dx = run.bottom_diffs[0].as<T>()});
  }

  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  GpuPaths<T> paths_of(const KernelRun& run) const {
    return CtcMemory<float>(e_, run.saved)
        .template paths<GpuMath>(e_, run.bottoms[0].as<T>(), run.bottoms[1].as<float>());
  }

  const CtcLossLayer& layer_;
  const CtcExtents e_;
  bool backward_;
  LabelWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("CtcLoss", CtcLossGpu);

}  // namespace robusta
