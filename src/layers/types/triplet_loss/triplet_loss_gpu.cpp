// TripletLoss on the GPU: the differences of the squared distances, which backward reads, then their sum. The first
// bottom is taken as it is stored, the others and their gradients are f32.

#include <algorithm>

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/elementwise.h"
#include "layers/types/triplet_loss/triplet_loss.h"

namespace robusta {
namespace {

/// A body of reduce_rows: a row is a triplet.
template <typename T>
struct TripletGaps {
  using Sum = float;
  const T* a;
  const float *p, *n;
  int64_t length;
  float margin;
  float* gaps;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t triplet, int64_t c) const {
    const int64_t i = triplet * length + c;
    const float near = static_cast<float>(a[i]) - p[i], far = static_cast<float>(a[i]) - n[i];
    return near * near - far * far;
  }
  ROBUSTA_GPU void store(int64_t triplet, Sum sum) const { gaps[triplet] = margin + sum; }
};

/// A body of reduce_all. A NaN stays one.
struct TripletCosts {
  using Sum = double;
  const float* gaps;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU Sum term(int64_t triplet) const { return gaps[triplet] < 0 ? 0.0f : gaps[triplet]; }
  ROBUSTA_GPU void store(Sum sum) const { *loss = static_cast<float>(sum / divisor); }
};

template <typename T, typename Gradient>
struct TripletGradient {
  int bottom;
  Divisor by_length;
  const T* a;
  const float *p, *n, *gaps, *loss_weight;
  float share;
  Gradient* dx;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float scale = gaps[by_length.quotient(i)] > 0 ? *loss_weight * share : 0.0f;
    dx[i] = static_cast<Gradient>(scale * triplet_slope(bottom, static_cast<float>(a[i]), p[i], n[i]));
  }
};

template <typename T>
class TripletLossGpu : public Kernel {
 public:
  explicit TripletLossGpu(const KernelRequest& request)
      : layer_(request.layer<TripletLossLayer>()),
        count_(request.bottoms[0].count()),
        triplets_(request.bottoms[0].shape[0]),
        length_(request.bottoms[0].shape.count(1)) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true, true};
    booking_.saved_bytes = static_cast<size_t>(triplets_) * sizeof(float);
    booking_.forward_scratch = reduce_all_scratch<TripletCosts>(triplets_);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    auto* gaps = static_cast<float*>(run.saved);
    reduce_rows(run.stream, triplets_, length_,
                TripletGaps<T>{.a = run.bottoms[0].as<T>(),
                               .p = run.bottoms[1].as<float>(),
                               .n = run.bottoms[2].as<float>(),
                               .length = length_,
                               .margin = layer_.margin(),
                               .gaps = gaps});
    reduce_all(run.stream, triplets_, run.scratch,
               TripletCosts{gaps, 2 * layer_.divisor(triplets_, run.pass->ranks), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (run.bottom_diffs[0]) gradient(run, 0, run.bottom_diffs[0].as<T>());
    for (int bottom = 1; bottom < 3; ++bottom) {
      if (run.bottom_diffs[bottom]) gradient(run, bottom, run.bottom_diffs[bottom].as<float>());
    }
  }

 private:
  template <typename Gradient>
  void gradient(const KernelRun& run, int bottom, Gradient* dx) const {
    for_each(run.stream, count_,
             TripletGradient<T, Gradient>{.bottom = bottom,
                                          .by_length = Divisor(std::max<int64_t>(length_, 1)),
                                          .a = run.bottoms[0].as<T>(),
                                          .p = run.bottoms[1].as<float>(),
                                          .n = run.bottoms[2].as<float>(),
                                          .gaps = static_cast<const float*>(run.saved),
                                          .loss_weight = run.top_diffs[0].as<float>(),
                                          .share = static_cast<float>(1 / layer_.divisor(triplets_, run.pass->ranks)),
                                          .dx = dx});
  }

  const TripletLossLayer& layer_;
  int64_t count_, triplets_, length_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("TripletLoss", TripletLossGpu);

}  // namespace robusta
