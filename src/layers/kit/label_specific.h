/// Layers that change scores by whether they are those of the labels, before a softmax: their meaning, and the kernel
/// of the CPU.
///
///   y_nc = f(x_nc, c is the label of n; a)
///
/// Bottoms: scores, all elements of a sample being its classes; one label per sample. Tops: y; optionally the amounts
/// a, which may follow from how many batches there were before. That follows from the position of the pass: a resumed
/// run goes on with them, where Caffe begins anew. Where nothing is to be done - mostly in the TEST phase - y is x.
///
/// f is given once, as a rule: a class template over the functions it is made of (math.h), so that one text serves the
/// reference and GPUs (backends/label_specific.h).
///   template <typename Math>
///   struct Rule {
///     using T = typename Math::T;
///     static constexpr int kAmounts = 1;             // at most kMostAmounts
///     static constexpr int64_t kStatistic = 0;       // elements of a parameter that Caffe's files have and none reads
///     static void check(const caffe::LayerParameter& layer);  // throws Error{kConfig}
///     static bool acts(const caffe::LayerParameter& layer);
///     explicit Rule(const caffe::LayerParameter& layer);
///     ROBUSTA_HOST_DEVICE void set(T batches, T* amounts) const;
///     ROBUSTA_HOST_DEVICE T value(T x, bool own, const T* amounts) const;
///     ROBUSTA_HOST_DEVICE T slope(T x, bool own, const T* amounts) const;  // what the gradient is multiplied by
///   };
#pragma once

#include <algorithm>

#include "base/half.h"
#include "base/parallel.h"
#include "layers/kit/batches.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/kernel.h"
#include "layers/kit/labels.h"
#include "layers/kit/math.h"

namespace robusta {

inline constexpr int kMostAmounts = 3;

/// What a rule says of its type, whatever it is computed with.
struct LabelSpecificTraits {
  int amounts;
  int64_t statistic;
  bool acts;
};

class LabelSpecificLayer : public Layer {
 public:
  LabelSpecificLayer(const caffe::LayerParameter& param, const LabelSpecificTraits& traits)
      : Layer(param), traits_(traits) {}
  Arity arity() const override { return {2, 2, 1, 2}; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::vector<ParamDecl> params() const override {
    if (traits_.statistic == 0) return {};
    return {{.shape = Shape{traits_.statistic}, .filler = nullptr, .statistic = true}};
  }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override {
    return LabelUse{0, 1, bottoms[0].count(1), std::nullopt};
  }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& scores = bottoms[0];
    if (scores.axes() == 0 || bottoms[1].count() != scores[0]) {
      throw Error(ErrorKind::kConfig, str("bottom 0 has shape ", scores.str(), " and bottom 1 ", bottoms[1].str()),
                  "wanted are the scores of samples, and a label for each")
          .in_field("bottom");
    }
    std::vector<Shape> tops{scores, Shape{traits_.amounts}};
    tops.resize(static_cast<size_t>(std::max(param().top_size(), 1)));
    return tops;
  }

  bool acts() const { return traits_.acts; }

 private:
  LabelSpecificTraits traits_;
};

/// `Rule`: over ExactMath<T>. Keeps the amounts.
template <typename T, typename Rule>
class LabelSpecificReference : public Kernel {
 public:
  explicit LabelSpecificReference(const KernelRequest& request)
      : acts_(request.layer<LabelSpecificLayer>().acts()),
        samples_(request.bottoms[0].shape[0]),
        classes_(request.bottoms[0].shape.count(1)),
        rule_(request.layers[0]->param()) {
    booking_.reads_bottoms = {acts_, acts_};
    booking_.saved_bytes = kMostAmounts * sizeof(T);
  }
  std::string describe() const override { return "reference"; }

  void forward(const KernelRun& run) override {
    const T *x = run.bottoms[0].as<T>(), *labels = run.bottoms[1].as<T>();
    T *y = run.tops[0].as<T>(), *amounts = static_cast<T*>(run.saved);
    rule_.set(static_cast<T>(batches_before(*run.pass)), amounts);
    if (run.tops.size() > 1) std::copy_n(amounts, Rule::kAmounts, run.tops[1].as<T>());
    if (acts_) check_labels(labels, samples_, 1, classes_, std::nullopt, *run.pass);
    for_scores(run, [=, this](int64_t i, bool own) { y[i] = acts_ ? rule_.value(x[i], own, amounts) : x[i]; });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const T *x = run.bottoms[0].as<T>(), *dy = run.top_diffs[0].as<T>(), *amounts = static_cast<const T*>(run.saved);
    T* dx = run.bottom_diffs[0].as<T>();
    for_scores(run,
               [=, this](int64_t i, bool own) { dx[i] = acts_ ? dy[i] * rule_.slope(x[i], own, amounts) : dy[i]; });
  }

 private:
  /// body(i, whether score i is that of the label)
  template <typename Body>
  void for_scores(const KernelRun& run, const Body& body) const {
    const T* labels = run.bottoms[1].as<T>();
    parallel_for(samples_, 1 + (1 << 13) / classes_, [&](int64_t n) {
      const int label = acts_ ? to_label(labels[n]) : -1;
      for (int64_t c = 0; c < classes_; ++c) body(n * classes_ + c, c == label);
    });
  }

  bool acts_;
  int64_t samples_, classes_;
  Rule rule_;
};

/// A factory for registering.
template <template <typename> class Rule>
std::unique_ptr<Kernel> make_label_specific_reference(const KernelRequest& request, std::string&) {
  return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<LabelSpecificReference<T, Rule<ExactMath<T>>>>(request);
  });
}

template <template <typename> class Rule>
std::unique_ptr<Layer> make_label_specific_layer(const caffe::LayerParameter& param) {
  using Exact = Rule<ExactMath<float>>;
  Exact::check(param);
  return std::make_unique<LabelSpecificLayer>(
      param, LabelSpecificTraits{Exact::kAmounts, Exact::kStatistic, Exact::acts(param)});
}

/// (1 + gamma * batches)^power, which the amounts of several layers follow.
template <typename Math>
ROBUSTA_HOST_DEVICE typename Math::T annealed(typename Math::T gamma, typename Math::T batches,
                                              typename Math::T power) {
  return Math::pow(1 + gamma * batches, power);
}

}  // namespace robusta
