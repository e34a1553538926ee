// HingeLoss: L = sum m / N (L1) or sum m^2 / N (L2) with the margins m = max(0, 1 - x) for the score of the true class,
// max(0, 1 + x) for those of the others: one against all, as in BVLC Caffe. The slope at the hinge is 0.

#include "layers/backends/class_loss.h"

namespace robusta {
namespace {

template <typename Math>
struct HingeCost {
  using T = typename Math::T;
  explicit HingeCost(const caffe::LayerParameter& layer)
      : squared(layer.hinge_loss_param().norm() == caffe::HingeLossParameter::L2) {}
  // Written so that a NaN stays one.
  static ROBUSTA_GPU T margin(T x, bool own) {
    const T m = own ? 1 - x : 1 + x;
    return m < 0 ? 0 : m;
  }
  ROBUSTA_GPU T value(T x, bool own) const {
    const T m = margin(x, own);
    return squared ? m * m : m;
  }
  ROBUSTA_GPU T slope(T x, bool own) const {
    const T m = margin(x, own), outward = own ? -1 : 1;
    return squared ? outward * 2 * m : m > 0 ? outward : 0;
  }

  bool squared;
};

}  // namespace

ROBUSTA_REGISTER_CLASS_LOSS("HingeLoss", HingeCost);

}  // namespace robusta
