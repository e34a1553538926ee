/// Losses over the softmax of scores, with one class label for each position: what SoftmaxWithLoss and InfogainLoss
/// share, and the kernel of the CPU without the formula of the loss.
///
/// Bottoms: scores; labels, one for each position outside the class axis. Tops: the loss, a scalar; optionally the
/// probabilities; optionally, where a type has them, the losses of the positions, in the shape of the labels.
#pragma once

#include "base/parallel.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/softmax.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class SoftmaxLossLayer : public Layer, public TellsShapes {
 public:
  /// `axis_field`: where the prototxt has given the class axis `axis`. The divisor is that of valid labels unless
  /// loss_param says otherwise, as in BVLC Caffe.
  SoftmaxLossLayer(const caffe::LayerParameter& param, int axis, std::string axis_field)
      : Layer(param),
        normalizer_(param.loss_param(), caffe::LossParameter::VALID),
        axis_(axis),
        axis_field_(std::move(axis_field)) {}
  Arity arity() const override { return {2, 2, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return bottom == 1 ? wanted_labels(bottoms[0], axis_, bottoms[1]) : std::nullopt;
  }
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override {
    return LabelUse{0, 1, view(bottoms[0]).classes, normalizer_.ignored()};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 5 * static_cast<double>(bottoms[0].count());
  }

  /// Throws Error{kConfig} when there is no such axis.
  AxisView view(const Shape& scores) const;
  const LossNormalizer& normalizer() const { return normalizer_; }

 private:
  LossNormalizer normalizer_;
  int axis_;
  std::string axis_field_;
};

/// The probabilities are kept from forward to backward, in the second top where there is one. Nobody keeps them when
/// there is no backward. `softmax`: exact or fast.
template <typename T>
class SoftmaxLossKernel : public Kernel {
 public:
  using Softmax = void (*)(const AxisView&, const T*, T*);

  SoftmaxLossKernel(const KernelRequest& request, Softmax softmax, const char* name)
      : view_(request.layer<SoftmaxLossLayer>().view(request.bottoms[0].shape)),
        normalizer_(request.layer<SoftmaxLossLayer>().normalizer()),
        per_sample_(view_.positions_per(request.bottoms[0].shape[0])),
        tops_(request.tops.size()),
        in_scratch_(tops_ == 1 && !request.backward),
        softmax_(softmax),
        name_(name) {
    booking_.reads_bottoms.assign(request.bottoms.size(), true);
    booking_.reads_bottoms[0] = false;
    booking_.reads_tops.assign(tops_, false);
    if (tops_ > 1) booking_.reads_tops[1] = true;
    // Nobody need use the other tops.
    booking_.takes_missing_top_diffs = tops_ > 1;
    // As T, whatever the type is in which the bottom is left.
    const size_t probabilities = static_cast<size_t>(request.bottoms[0].shape.count()) * sizeof(T);
    if (in_scratch_) booking_.forward_scratch = probabilities;
    if (request.backward) booking_.saved_bytes = kHead + (tops_ == 1 ? probabilities : 0);
    keeps_ = request.backward;
  }
  std::string describe() const override { return name_; }

  void forward(const KernelRun& run) override {
    const T* labels = checked_labels(run);
    T* p = probabilities(run);
    softmax_(view_, run.bottoms[0].as<T>(), p);
    prepare(run);
    T* each = tops_ > 2 ? run.tops[2].as<T>() : nullptr;
    double loss = 0;
    int64_t valid = 0;
    for (int64_t position = 0; position < view_.positions(); ++position) {
      const int label = to_label(labels[position]);
      const bool counts = label != normalizer_.ignored();
      const int64_t outer = position / view_.inner, inner = position % view_.inner;
      const double own = counts ? cost(p + outer * view_.classes * view_.inner + inner, label) : 0;
      if (each) each[position] = static_cast<T>(own);
      loss += own;
      valid += counts;
    }
    const double divisor = normalizer_.divisor(valid, view_.positions(), view_.outer, run.pass->ranks);
    if (keeps_) *static_cast<double*>(run.saved) = divisor;
    run.tops[0].as<T>()[0] = static_cast<T>(loss / divisor);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    // Once more, as a program may have written others since forward.
    const T *labels = checked_labels(run), *p = probabilities(run);
    const T* each = tops_ > 2 ? run.top_diffs[2].as<T>() : nullptr;
    T* dx = run.bottom_diffs[0].as<T>();
    const double loss_weight = run.top_diffs[0] ? run.top_diffs[0].as<T>()[0] : T{0};
    const T scale = static_cast<T>(loss_weight / *static_cast<const double*>(run.saved));
    prepare(run);
    parallel_for(view_.outer, (1 << 13) / (view_.classes * view_.inner + 1) + 1, [&](int64_t outer) {
      const int64_t first = outer * view_.classes * view_.inner;
      gradient_of_item(labels + outer * view_.inner, p + first, each ? T{1} : scale, dx + first);
      if (each) weigh_positions(scale, each + outer * view_.inner, dx + first);
    });
    if (tops_ > 1 && run.top_diffs[1]) softmax_exact_backward(view_, p, run.top_diffs[1].as<T>(), dx, true);
  }

 protected:
  /// Called in forward and backward before the others.
  virtual void prepare(const KernelRun& run) {}
  /// The loss of a position that is not ignored. `p`: its first class, the others lie view().inner apart.
  virtual double cost(const T* p, int label) const = 0;
  /// The gradients of the scores of an item, times `scale`: zero where the label is ignored.
  virtual void gradient_of_item(const T* labels, const T* p, T scale, T* dx) const = 0;

  const AxisView& view() const { return view_; }
  bool ignores(int label) const { return label == normalizer_.ignored(); }

 private:
  /// Bytes before the probabilities, which stay aligned. The divisor lies there, since a net that is planned anew in
  /// the middle of a pass has other kernels in backward (net/run/live_values.h).
  static constexpr size_t kHead = 64;

  const T* checked_labels(const KernelRun& run) const {
    const T* labels = run.bottoms[1].as<T>();
    check_labels(labels, view_.positions(), per_sample_, view_.classes, normalizer_.ignored(), *run.pass);
    return labels;
  }

  T* probabilities(const KernelRun& run) const {
    if (tops_ > 1) return run.tops[1].as<T>();
    return static_cast<T*>(in_scratch_ ? run.scratch : static_cast<char*>(run.saved) + kHead);
  }

  /// Times the gradient of the loss of each position: in the sum, and on its own.
  void weigh_positions(T scale, const T* each, T* dx) const {
    for (int64_t c = 0; c < view_.classes; ++c, dx += view_.inner) {
      for (int64_t inner = 0; inner < view_.inner; ++inner) dx[inner] *= scale + each[inner];
    }
  }

  AxisView view_;
  const LossNormalizer& normalizer_;
  int64_t per_sample_;  ///< positions
  size_t tops_;
  bool in_scratch_;     ///< neither backward nor a second top wants the probabilities
  bool keeps_ = false;  ///< what is saved: the divisor, and probabilities behind it
  Softmax softmax_;
  const char* name_;
};

/// Registers Stored<T>, with constructor Stored(request, softmax, name), as the reference and the native kernel.
template <template <typename> class Stored>
bool register_softmax_loss(const std::string& type) {
  const auto reference = [](const KernelRequest& request, std::string&) {
    return dispatch(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
      using T = decltype(t);
      return std::make_unique<Stored<T>>(request, softmax_exact<T>, "reference");
    });
  };
  const auto native = [](const KernelRequest& request, std::string& why_not) -> std::unique_ptr<Kernel> {
    if (!is_f32(request, why_not)) return nullptr;
    return std::make_unique<Stored<float>>(request, softmax_fast, "native");
  };
  return register_kernel({type, "reference", "cpu", 0, reference}) &&
         register_kernel({type, "native", "cpu", 10, native});
}

}  // namespace robusta
