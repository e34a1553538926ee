// Cross-entropy: fields, and the kernels of the CPU. Reference and native one differ in how they compute the softmax.

#include "layers/kit/cross_entropy.h"

#include <cfloat>
#include <cmath>

#include "base/log.h"
#include "base/str.h"
#include "layers/kit/field_checks.h"

namespace robusta {

CrossEntropyLayer::CrossEntropyLayer(const caffe::LayerParameter& param)
    : SoftmaxLossLayer(param, param.softmax_param().axis(), "softmax_param.axis") {
  const caffe::LossParameter& loss = param.loss_param();
  const float smoothing = loss.label_smoothing();
  if (!(smoothing >= 0 && smoothing < 1)) {
    throw Error(ErrorKind::kConfig, str("label_smoothing ", smoothing, " is outside 0..1"), "usual values are 0 to 0.2")
        .in_field("loss_param.label_smoothing");
  }
  for (const float weight : loss.class_weighting()) {
    if (require_finite(weight, "loss_param.class_weighting") >= 0) continue;
    throw Error(ErrorKind::kConfig, str("a class has weight ", weight), "give 0 or more")
        .in_field("loss_param.class_weighting");
  }
  if (loss.weight_by_label_freqs()) class_weights_.assign(loss.class_weighting().begin(), loss.class_weighting().end());
  if (loss.weight_by_label_freqs() && class_weights_.empty()) {
    throw Error(ErrorKind::kConfig, "weight_by_label_freqs says that classes have weights, and none are given",
                "give class_weighting for each class; SegNet's are the median frequency of a class by its own")
        .in_field("loss_param.weight_by_label_freqs");
  }
  if (!loss.weight_by_label_freqs() && loss.class_weighting_size() > 0)
    LOG_WARNING << "layer " << param.name() << ": class_weighting does nothing without weight_by_label_freqs: true";
}

std::vector<Shape> CrossEntropyLayer::infer_tops(const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = SoftmaxLossLayer::infer_tops(bottoms);
  const auto weights = static_cast<int64_t>(class_weights_.size());
  if (weights > 0 && weights != view(bottoms[0]).classes) {
    throw Error(
        ErrorKind::kConfig,
        str("class_weighting is given ", weights, " times, the scores have ", view(bottoms[0]).classes, " classes"),
        "give one for each class, in their order")
        .in_field("loss_param.class_weighting");
  }
  return tops;
}

namespace {

template <typename T>
class CrossEntropyKernel : public SoftmaxLossKernel<T> {
 public:
  CrossEntropyKernel(const KernelRequest& request, typename SoftmaxLossKernel<T>::Softmax softmax, const char* name)
      : SoftmaxLossKernel<T>(request, softmax, name),
        target_(request.layers[0]->param(), view().classes * view().inner),
        weights_(request.layer<CrossEntropyLayer>().class_weights()) {}

 protected:
  using SoftmaxLossKernel<T>::view;

  double cost(const T* p, int label) const override {
    const T probability = p[label * view().inner];
    // Not std::max, which would hide a NaN.
    return -std::log(probability < T{FLT_MIN} ? T{FLT_MIN} : probability) * weight(label);
  }

  /// scale * weight * (p * mass - target); without smoothing: p - target.
  void gradient_of_item(const T* labels, const T* p, T scale, T* dx) const override {
    const int64_t classes = view().classes, positions = view().inner;
    for (int64_t i = 0; i < classes * positions; ++i) dx[i] = scale * (p[i] * target_.mass - target_.other);
    for (int64_t inner = 0; inner < positions; ++inner) {
      const int label = to_label(labels[inner]);
      if (this->ignores(label)) {
        for (int64_t c = 0; c < classes; ++c) dx[c * positions + inner] = 0;
      } else {
        const int64_t i = label * positions + inner;
        dx[i] = scale * (p[i] * target_.mass - target_.own);
        if (!weights_.empty()) weigh(weight(label), dx + inner);
      }
    }
  }

 private:
  T weight(int label) const { return weights_.empty() ? T{1} : static_cast<T>(weights_[static_cast<size_t>(label)]); }

  /// The gradients of one position.
  void weigh(T weight, T* dx) const {
    for (int64_t c = 0; c < view().classes; ++c) dx[c * view().inner] *= weight;
  }

  SmoothTarget<T> target_;
  const std::vector<float>& weights_;
};

}  // namespace

bool register_cross_entropy(const std::string& type) { return register_softmax_loss<CrossEntropyKernel>(type); }

}  // namespace robusta
