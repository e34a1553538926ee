/// Losses that compare predictions with targets, element by element: their meaning, and the kernel of the CPU.
///
///   L = sum_i v_i f(w_i (a_i - b_i)) / divisor
///
/// Bottoms: a and b; then, where a type takes them, the weights w and v, which have no gradient. Tops: the loss, a
/// scalar; then, where a type has it, the terms of each position, summed over the channels.
///
/// f is given once, as a distance: a class template over the functions it is made of (math.h), so that one text serves
/// the reference and GPUs (backends/regression_loss.h).
///   template <typename Math>
///   struct Distance {
///     using T = typename Math::T;
///     explicit Distance(const caffe::LayerParameter& layer);  // or a default constructor
///     ROBUSTA_GPU T value(T d) const;                         // f(d)
///     ROBUSTA_GPU T slope(T d) const;                         // the derivative
///   };
#pragma once

#include "base/half.h"
#include "base/parallel.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/make_formula.h"
#include "layers/kit/math.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

/// Two bottoms, one top, the divisor is the number of samples; types that know more derive from it.
class RegressionLossLayer : public Layer, public TellsShapes {
 public:
  explicit RegressionLossLayer(const caffe::LayerParameter& param)
      : RegressionLossLayer(param, LossNormalizer({}, caffe::LossParameter::BATCH_SIZE)) {}
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// All bottoms are as the predictions are.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return bottom == 0 ? std::nullopt : wanted_targets(bottoms[0], bottoms[bottom]);
  }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom < 2; }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[0].count());
  }
  /// Predictions as [samples, channels, positions of a sample].
  static AxisView view(const Shape& predictions) {
    return predictions.axes() > 1 ? AxisView(predictions, 1) : AxisView(Shape{predictions[0], 1}, 1);
  }
  /// What the sum is divided by (kit/loss_normalizer.h).
  double divisor(const AxisView& view, const Pass& pass) const {
    return normalizer_.divisor(view.positions(), view.positions(), view.outer, pass.ranks);
  }

 protected:
  /// `normalizer` ignores no label: there are none.
  RegressionLossLayer(const caffe::LayerParameter& param, const LossNormalizer& normalizer)
      : Layer(param), normalizer_(normalizer) {}

 private:
  LossNormalizer normalizer_;
};

/// One run's bottoms; what is computed of them is a `Number`.
template <typename Number, typename A, typename B>
struct WeightedDifferences {
  const A* a;
  const B *b, *w, *v;  ///< the weights: null for 1

  explicit WeightedDifferences(const KernelRun& run)
      : a(run.bottoms[0].as<A>()),
        b(run.bottoms[1].as<B>()),
        w(run.bottoms.size() > 2 ? run.bottoms[2].as<B>() : nullptr),
        v(run.bottoms.size() > 3 ? run.bottoms[3].as<B>() : nullptr) {}

  ROBUSTA_HOST_DEVICE Number difference(int64_t i) const {
    const Number d = static_cast<Number>(a[i]) - static_cast<Number>(b[i]);
    return w ? static_cast<Number>(w[i]) * d : d;
  }
  template <typename Distance>
  ROBUSTA_HOST_DEVICE Number value(const Distance& f, int64_t i) const {
    const Number value = f.value(difference(i));
    return v ? static_cast<Number>(v[i]) * value : value;
  }
  /// The derivative of that by a.
  template <typename Distance>
  ROBUSTA_HOST_DEVICE Number slope(const Distance& f, int64_t i) const {
    Number slope = f.slope(difference(i));
    if (w) slope *= static_cast<Number>(w[i]);
    return v ? static_cast<Number>(v[i]) * slope : slope;
  }
};

/// Computes in double: the sum is of as many terms as a batch has elements. `Distance`: over ExactMath<double>.
template <typename T, typename Distance>
class RegressionLossReference : public Kernel {
 public:
  explicit RegressionLossReference(const KernelRequest& request)
      : layer_(request.layer<RegressionLossLayer>()),
        view_(layer_.view(request.bottoms[0].shape)),
        count_(request.bottoms[0].count()),
        f_(make_formula<Distance>(request)) {
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.takes_missing_top_diffs = request.tops.size() > 1;
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const Differences d(run);
    double sum = 0;
    for (int64_t i = 0; i < count_; ++i) sum += d.value(f_, i);
    run.tops[0].as<T>()[0] = static_cast<T>(sum / layer_.divisor(view_, *run.pass));
    if (run.tops.size() > 1) sum_positions(d, run.tops[1].as<T>());
  }

  void backward(const KernelRun& run) override {
    const Differences d(run);
    const T* each = run.tops.size() > 1 ? run.top_diffs[1].as<T>() : nullptr;
    const double whole = run.top_diffs[0] ? run.top_diffs[0].as<T>()[0] / layer_.divisor(view_, *run.pass) : 0;
    for (int bottom = 0; bottom < 2; ++bottom) {
      if (!run.bottom_diffs[bottom]) continue;
      T* dx = run.bottom_diffs[bottom].as<T>();
      const int sign = bottom == 0 ? 1 : -1;
      parallel_for(count_, 1 << 14, [=, this](int64_t i) {
        const double scale = each ? whole + each[position(i)] : whole;
        dx[i] = static_cast<T>(sign * scale * d.slope(f_, i));
      });
    }
  }

 private:
  using Differences = WeightedDifferences<double, T, T>;

  int64_t position(int64_t i) const { return i / (view_.classes * view_.inner) * view_.inner + i % view_.inner; }

  void sum_positions(const Differences& d, T* sums) const {
    parallel_for(view_.positions(), 1 << 10, [=, this](int64_t p) {
      const int64_t first = p / view_.inner * view_.classes * view_.inner + p % view_.inner;
      double sum = 0;
      for (int64_t c = 0; c < view_.classes; ++c) sum += d.value(f_, first + c * view_.inner);
      sums[p] = static_cast<T>(sum);
    });
  }

  const RegressionLossLayer& layer_;
  AxisView view_;
  int64_t count_;
  Distance f_;
};

/// A factory for registering.
template <template <typename> class Distance>
std::unique_ptr<Kernel> make_regression_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<RegressionLossReference<decltype(t), Distance<ExactMath<double>>>>(request);
  });
}

}  // namespace robusta
