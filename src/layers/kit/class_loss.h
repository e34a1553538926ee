/// Losses of the scores of a sample and its class label: their meaning, and the kernel of the CPU.
///
///   L = sum over samples n and classes c of f(x_nc, c is the label of n) / N
///
/// Bottoms: scores, all elements of a sample being its classes; one label per sample. Top: the loss, a scalar.
///
/// f is given once, as a cost: a class template over the functions it is made of (math.h), so that one text serves the
/// reference and GPUs (backends/class_loss.h).
///   template <typename Math>
///   struct Cost {
///     using T = typename Math::T;
///     explicit Cost(const caffe::LayerParameter& layer);  // or a default constructor
///     ROBUSTA_GPU T value(T x, bool own) const;           // f(x, own)
///     ROBUSTA_GPU T slope(T x, bool own) const;           // the derivative by x
///   };
#pragma once

#include "base/parallel.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/make_formula.h"
#include "layers/kit/math.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class ClassLossLayer : public Layer, public TellsShapes {
 public:
  explicit ClassLossLayer(const caffe::LayerParameter& param)
      : Layer(param), normalizer_({}, caffe::LossParameter::BATCH_SIZE) {}
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    if (bottom != 1 || bottoms[0].axes() == 0) return std::nullopt;
    return wanted_labels({bottoms[0][0], bottoms[0].count(1)}, 1, bottoms[1]);
  }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override {
    return LabelUse{0, 1, bottoms[0].count(1), std::nullopt};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 2 * static_cast<double>(bottoms[0].count());
  }
  /// Scores as [samples, classes, 1].
  static AxisView view(const Shape& scores) { return AxisView(Shape{scores[0], scores.count(1)}, 1); }
  const LossNormalizer& normalizer() const { return normalizer_; }

 private:
  LossNormalizer normalizer_;
};

/// Sums in double. `Cost`: over ExactMath<T>.
template <typename T, typename Cost>
class ClassLossReference : public Kernel {
 public:
  explicit ClassLossReference(const KernelRequest& request)
      : view_(ClassLossLayer::view(request.bottoms[0].shape)),
        normalizer_(request.layer<ClassLossLayer>().normalizer()),
        f_(make_formula<Cost>(request)) {
    booking_.reads_bottoms = {true, true};
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    check_labels(labels, view_.outer, 1, view_.classes, std::nullopt, *run.pass);
    double sum = 0;
    for (int64_t n = 0; n < view_.outer; ++n) {
      const int label = to_label(labels[n]);
      for (int64_t c = 0; c < view_.classes; ++c) sum += f_.value(x[n * view_.classes + c], c == label);
    }
    run.tops[0].as<T>()[0] = static_cast<T>(sum / divisor(run));
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    T* dx = run.bottom_diffs[0].as<T>();
    const T scale = static_cast<T>(run.top_diffs[0].as<T>()[0] / divisor(run));
    parallel_for(view_.outer, (1 << 13) / (view_.classes + 1) + 1, [=, this](int64_t n) {
      const int label = to_label(labels[n]);
      for (int64_t c = 0, i = n * view_.classes; c < view_.classes; ++c, ++i) {
        dx[i] = scale * f_.slope(x[i], c == label);
      }
    });
  }

 private:
  double divisor(const KernelRun& run) const {
    return normalizer_.divisor(view_.outer, view_.outer, view_.outer, run.pass->ranks);
  }

  AxisView view_;
  const LossNormalizer& normalizer_;
  Cost f_;
};

/// A factory for registering.
template <template <typename> class Cost>
std::unique_ptr<Kernel> make_class_loss_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<ClassLossReference<T, Cost<ExactMath<T>>>>(request);
  });
}

}  // namespace robusta
