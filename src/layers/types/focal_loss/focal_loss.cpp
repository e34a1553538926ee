// FocalLoss: fields, and the kernels of the CPU. Reference and native one differ in how they compute the softmax.

#include "layers/types/focal_loss/focal_loss.h"

#include "layers/kit/field_checks.h"
#include "layers/kit/math.h"

namespace robusta {

FocalLossLayer::FocalLossLayer(const caffe::LayerParameter& param)
    : SoftmaxLossLayer(param, param.softmax_param().axis(), "softmax_param.axis") {
  const auto& p = param.focal_loss_param();
  if (!(require_finite(p.gamma(), "focal_loss_param.gamma") >= 0)) {
    throw Error(ErrorKind::kConfig, str("gamma is ", p.gamma()), "give 0 or more; 2 is usual")
        .in_field("focal_loss_param.gamma");
  }
  if (!(require_finite(p.alpha(), "focal_loss_param.alpha") > 0)) {
    throw Error(ErrorKind::kConfig, str("alpha is ", p.alpha()), "give a positive number, such as 1")
        .in_field("focal_loss_param.alpha");
  }
}

namespace {

template <typename T>
class FocalLossKernel : public SoftmaxLossKernel<T> {
 public:
  FocalLossKernel(const KernelRequest& request, typename SoftmaxLossKernel<T>::Softmax softmax, const char* name)
      : SoftmaxLossKernel<T>(request, softmax, name), f_(request.layers[0]->param()) {}

 protected:
  using SoftmaxLossKernel<T>::view;

  double cost(const T* p, int label) const override { return f_.value(p[label * view().inner]); }

  void gradient_of_item(const T* labels, const T* p, T scale, T* dx) const override {
    const int64_t classes = view().classes, positions = view().inner;
    for (int64_t inner = 0; inner < positions; ++inner) {
      const int label = to_label(labels[inner]);
      const bool counts = !this->ignores(label);
      const T factor = counts ? scale * f_.factor(p[label * positions + inner]) : T{0};
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t i = c * positions + inner;
        dx[i] = counts ? factor * (p[i] - static_cast<T>(c == label)) : T{0};
      }
    }
  }

 private:
  FocalCost<ExactMath<T>> f_;
};

[[maybe_unused]] const bool registered_focal_loss = register_softmax_loss<FocalLossKernel>("FocalLoss");

}  // namespace

ROBUSTA_REGISTER_LAYER("FocalLoss", FocalLossLayer);

}  // namespace robusta
