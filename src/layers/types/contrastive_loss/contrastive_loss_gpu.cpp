// ContrastiveLoss on the GPU: the squared distances of the pairs, which backward reads, then their costs.
//
// The first bottom is taken as it is stored, the others and the gradient of the second are f32.

#include <algorithm>

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/finite_watch.h"
#include "layers/backends/gpu/unary.h"
#include "layers/kit/labels.h"
#include "layers/types/contrastive_loss/contrastive_loss.h"

namespace robusta {
namespace {

/// A body of reduce_rows: a row is a pair.
template <typename T>
struct PairSquares {
  using Sum = float;
  const T* a;
  const float* b;
  int64_t length;
  float* squares;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t pair, int64_t c) const {
    const int64_t i = pair * length + c;
    const float difference = static_cast<float>(a[i]) - b[i];
    return difference * difference;
  }
  ROBUSTA_GPU void store(int64_t pair, Sum sum) const { squares[pair] = sum; }
};

/// What is known of the pairs.
struct Pairs {
  PairCost<GpuMath> f;
  const float *squares, *similar;
  ROBUSTA_GPU float value(int64_t pair) const { return f.value(squares[pair], to_label(similar[pair]) != 0); }
  ROBUSTA_GPU float slope(int64_t pair) const { return f.slope(squares[pair], to_label(similar[pair]) != 0); }
};

/// A body of reduce_all.
struct PairCosts {
  using Sum = double;
  Pairs pairs;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t pair) const { return pairs.value(pair); }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

template <typename T, typename Gradient>
struct PairGradient {
  Pairs pairs;
  Divisor by_length;
  const T* a;
  const float *b, *loss_weight;
  float factor;  ///< 1 / N for a, -1 / N for b
  Gradient* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float scale = factor * *loss_weight * pairs.slope(by_length.quotient(i));
    dx[i] = static_cast<Gradient>(scale * (static_cast<float>(a[i]) - b[i]));
  }
};

template <typename T>
class ContrastiveLossGpu : public Kernel {
 public:
  explicit ContrastiveLossGpu(const KernelRequest& request)
      : count_(request.bottoms[0].count()),
        pairs_(request.bottoms[0].shape[0]),
        length_(request.bottoms[0].shape.count(1)),
        f_(request.layers[0]->param()),
        watch_(request) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true, true};
    booking_.saved_bytes = static_cast<size_t>(pairs_) * sizeof(float);
    booking_.forward_scratch = std::max(reduce_all_scratch<PairCosts>(pairs_), FiniteWatch::scratch_bytes(pairs_));
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    watch_.look(run.stream, run.bottoms[2].as<float>(), pairs_, run.scratch, bad_similarity(*run.pass));
    reduce_rows(
        run.stream, pairs_, length_,
        PairSquares<T>{run.bottoms[0].as<T>(), run.bottoms[1].as<float>(), length_, static_cast<float*>(run.saved)});
    reduce_all(run.stream, pairs_, run.scratch, PairCosts{pairs(run), 2 * divisor(), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    const auto share = static_cast<float>(1 / divisor());
    if (run.bottom_diffs[0]) gradient(run, share, run.bottom_diffs[0].as<T>());
    if (run.bottom_diffs[1]) gradient(run, -share, run.bottom_diffs[1].as<float>());
  }

  void check(const Pass& pass) override { watch_.check(bad_similarity(pass)); }

 private:
  double divisor() const { return static_cast<double>(std::max<int64_t>(pairs_, 1)); }
  Pairs pairs(const KernelRun& run) const {
    return {f_, static_cast<const float*>(run.saved), run.bottoms[2].as<float>()};
  }

  template <typename Gradient>
  void gradient(const KernelRun& run, float factor, Gradient* dx) const {
    for_each(run.stream, count_,
             PairGradient<T, Gradient>{.pairs = pairs(run),
                                       .by_length = Divisor(std::max<int64_t>(length_, 1)),
                                       .a = run.bottoms[0].as<T>(),
                                       .b = run.bottoms[1].as<float>(),
                                       .loss_weight = run.top_diffs[0].as<float>(),
                                       .factor = factor,
                                       .dx = dx});
  }

  int64_t count_, pairs_, length_;
  PairCost<GpuMath> f_;
  FiniteWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("ContrastiveLoss", ContrastiveLossGpu);

}  // namespace robusta
