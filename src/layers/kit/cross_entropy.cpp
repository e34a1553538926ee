// Cross-entropy: fields, and the kernels of the CPU. Reference and native one differ in how they compute the softmax.

#include "layers/kit/cross_entropy.h"

#include <cfloat>
#include <cmath>

#include "base/str.h"

namespace robusta {

CrossEntropyLayer::CrossEntropyLayer(const caffe::LayerParameter& param)
    : SoftmaxLossLayer(param, param.softmax_param().axis(), "softmax_param.axis") {
  const float smoothing = param.loss_param().label_smoothing();
  if (smoothing >= 0 && smoothing < 1) return;
  throw Error(ErrorKind::kConfig, str("label_smoothing ", smoothing, " is outside 0..1"), "usual values are 0 to 0.2")
      .in_field("loss_param.label_smoothing");
}

namespace {

template <typename T>
class CrossEntropyKernel : public SoftmaxLossKernel<T> {
 public:
  CrossEntropyKernel(const KernelRequest& request, typename SoftmaxLossKernel<T>::Softmax softmax, const char* name)
      : SoftmaxLossKernel<T>(request, softmax, name),
        target_(request.layers[0]->param(), view().classes * view().inner) {}

 protected:
  using SoftmaxLossKernel<T>::view;

  double cost(const T* p, int label) const override {
    const T probability = p[label * view().inner];
    // Not std::max, which would hide a NaN.
    return -std::log(probability < T{FLT_MIN} ? T{FLT_MIN} : probability);
  }

  /// scale * (p * mass - target); without smoothing: p - target.
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
      }
    }
  }

 private:
  SmoothTarget<T> target_;
};

}  // namespace

bool register_cross_entropy(const std::string& type) { return register_softmax_loss<CrossEntropyKernel>(type); }

}  // namespace robusta
