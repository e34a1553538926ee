// EuclideanLoss on the GPU: a reduction forward, an elementwise difference backward.
//
// The second bottom holds targets as a rule, which 16 bits may not hold: it is f32, and so is its gradient.

#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"

namespace robusta {
namespace {

/// The body of reduce_all.
template <typename T>
struct SquaredDistance {
  using Sum = double;
  const T* a;
  const float* b;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t i) const {
    const float difference = static_cast<float>(a[i]) - b[i];
    return static_cast<double>(difference) * difference;
  }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

/// dx = factor * loss weight * (a - b)
template <typename T, typename Gradient>
struct EuclideanGradient {
  const T* a;
  const float *b, *loss_weight;
  float factor;
  Gradient* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float scale = factor * *loss_weight;
    dx[i] = static_cast<Gradient>(scale * (static_cast<float>(a[i]) - b[i]));
  }
};

template <typename T>
class EuclideanLossGpu : public Kernel {
 public:
  explicit EuclideanLossGpu(const KernelRequest& request)
      : count_(request.bottoms[0].count()), batch_(request.bottoms[0].shape[0]) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.forward_scratch = reduce_all_scratch<SquaredDistance<T>>(count_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, count_, run.scratch,
               SquaredDistance<T>{run.bottoms[0].as<T>(), run.bottoms[1].as<float>(), 2.0 * static_cast<double>(batch_),
                                  run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    const float share = 1.0f / static_cast<float>(batch_);
    if (run.bottom_diffs[0]) gradient(run, share, run.bottom_diffs[0].as<T>());
    if (run.bottom_diffs[1]) gradient(run, -share, run.bottom_diffs[1].as<float>());
  }

 private:
  /// `factor`: 1 / N for bottom 0, -1 / N for bottom 1.
  template <typename Gradient>
  void gradient(const KernelRun& run, float factor, Gradient* dx) const {
    for_each(run.stream, count_,
             EuclideanGradient<T, Gradient>{.a = run.bottoms[0].as<T>(),
                                            .b = run.bottoms[1].as<float>(),
                                            .loss_weight = run.top_diffs[0].as<float>(),
                                            .factor = factor,
                                            .dx = dx});
  }

  int64_t count_, batch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("EuclideanLoss", EuclideanLossGpu);

}  // namespace robusta
