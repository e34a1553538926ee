// CenterLoss on the GPU: one thread for each feature of a class goes through the samples of that class, which are
// linked (backends/gpu/picked_rows.h), so that sums have one order. Features are taken as they are stored.

#include <algorithm>

#include "layers/backends/gpu/elementwise.h"
#include "layers/backends/gpu/picked_rows.h"
#include "layers/types/center_loss/center_loss.h"

namespace robusta {
namespace {

template <typename T>
struct FeatureDistance {
  LabelReader label;
  Divisor by_features;
  int64_t features;
  const T* x;
  const float* centres;
  /// x - c of element i; 0 where the label is bad.
  ROBUSTA_GPU float operator()(int64_t i) const {
    int64_t sample = i;
    const int64_t k = by_features.take_off(sample);
    const int own = label(sample);
    return own < 0 ? 0 : static_cast<float>(x[i]) - centres[own * features + k];
  }
};

struct LossOrBadLabel {
  double loss;
  int64_t first_bad;
};

/// A body of reduce_all.
template <typename T>
struct CenterLossSum {
  using Sum = LossOrBadLabel;
  FeatureDistance<T> distance;
  CenterDistance<float> f;
  double divisor;
  float* loss;
  ROBUSTA_GPU Sum zero() const { return {0, kNoPlace}; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    return {a.loss + b.loss, a.first_bad < b.first_bad ? a.first_bad : b.first_bad};
  }
  ROBUSTA_GPU Sum term(int64_t i) const {
    const int64_t sample = distance.by_features.quotient(i);
    if (distance.label(sample) < 0) return {0, sample};
    return {f.value(distance(i)), kNoPlace};
  }
  ROBUSTA_GPU void store(Sum sum) const {
    distance.label.report(sum.first_bad);
    *loss = static_cast<float>(sum.loss / divisor);
  }
};

template <typename T>
struct CenterLossGradient {
  FeatureDistance<T> distance;
  CenterDistance<float> f;
  const float* loss_weight;
  float share;
  T* dx;
  ROBUSTA_GPU void operator()(int64_t i) const { dx[i] = static_cast<T>(*loss_weight * share * f.slope(distance(i))); }
};

/// One feature of a centre. The samples of class c begin with first[c], and behind n comes next[n]; -1 ends a list.
template <typename T>
struct MoveCenter {
  FeatureDistance<T> distance;
  CenterDistance<float> f;
  const int64_t *first, *next;
  const float* loss_weight;
  float centre_weight;
  float* gradient;
  bool adds;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t own = i;
    const int64_t k = distance.by_features.take_off(own);
    // The 1 of 1 + count: a centre whose class has no sample stays where it is.
    double sum = 0, count = 1;
    for (int64_t n = first[own]; n >= 0; n = next[n]) {
      sum += f.slope(distance(n * distance.features + k));
      count += 1;
    }
    gradient[i] = (adds ? gradient[i] : 0.0f) - static_cast<float>(sum / count) * *loss_weight * centre_weight;
  }
};

template <typename T>
class CenterLossGpu : public Kernel {
 public:
  explicit CenterLossGpu(const KernelRequest& request)
      : layer_(request.layer<CenterLossLayer>()),
        size_(layer_.size()),
        f_{layer_.takes_absolutes()},
        watch_(request, size_.classes, 1, std::nullopt) {
    book_scores<T>(request, booking_);
    booking_.reads_bottoms = {true, true};
    booking_.forward_scratch = reduce_all_scratch<CenterLossSum<T>>(size_.samples * size_.features);
    booking_.backward_scratch = static_cast<size_t>(size_.classes + size_.samples) * sizeof(int64_t);
  }
  std::string describe() const override { return "gpu"; }

  void forward(const KernelRun& run) override {
    reduce_all(run.stream, size_.samples * size_.features, run.scratch,
               CenterLossSum<T>{distance(run), f_, layer_.divisor(run.pass->ranks), run.tops[0].as<float>()});
  }

  void backward(const KernelRun& run) override {
    if (run.params[0]->learns) move_centres(run);
    if (!run.bottom_diffs[0]) return;
    for_each(run.stream, size_.samples * size_.features,
             CenterLossGradient<T>{.distance = distance(run),
                                   .f = f_,
                                   .loss_weight = run.top_diffs[0].as<float>(),
                                   .share = static_cast<float>(1 / layer_.divisor(run.pass->ranks)),
                                   .dx = run.bottom_diffs[0].as<T>()});
  }

  void check(const Pass& pass) override { watch_.check(pass); }

 private:
  FeatureDistance<T> distance(const KernelRun& run) const {
    return {watch_.reader(run.bottoms[1].as<float>()), Divisor(size_.features), size_.features, run.bottoms[0].as<T>(),
            run.params[0]->tensor().as<float>()};
  }

  void move_centres(const KernelRun& run) const {
    auto* first = static_cast<int64_t*>(run.scratch);
    int64_t* next = first + size_.classes;
    const FeatureDistance<T> of = distance(run);
    for_each(run.stream, std::min(detail::kPickThreads, size_.classes),
             detail::LinkPlaces{of.label, size_.samples, size_.classes, first, next});
    const int ranks = run.pass->ranks ? run.pass->ranks->ranks() : 1;  // the mean over them is taken of a sum
    for_each(run.stream, size_.classes * size_.features,
             MoveCenter<T>{.distance = of,
                           .f = f_,
                           .first = first,
                           .next = next,
                           .loss_weight = run.top_diffs[0].as<float>(),
                           .centre_weight = layer_.centre_weight() * static_cast<float>(ranks),
                           .gradient = run.params[0]->gradient().as<float>(),
                           .adds = run.accumulate[0] != 0});
  }

  const CenterLossLayer& layer_;
  const CenterLossSize size_;
  CenterDistance<float> f_;
  LabelWatch watch_;
};

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("CenterLoss", CenterLossGpu);

}  // namespace robusta
