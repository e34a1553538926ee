// SoftmaxWithLossOHEM: SoftmaxWithLoss with the losses of the positions, in the shape of the labels, as a third top:
// what BoxAnnotatorOHEM chooses hard examples by (Shrivastava, Gupta, Girshick 2016, "Training region-based object
// detectors with online hard example mining"; Intel's fork, softmax_loss_ohem_layer.cpp).
//
// Ignored labels have no loss, as on the fork's GPU; its CPU leaves them out, so that later losses move forward. The
// fork has no gradient of the second and third top; here they have theirs.

#include "layers/kit/cross_entropy.h"

namespace robusta {
namespace {

class SoftmaxLossOhemLayer : public CrossEntropyLayer {
 public:
  using CrossEntropyLayer::CrossEntropyLayer;
  Arity arity() const override { return {2, 2, 1, 3}; }
};

ROBUSTA_REGISTER_LAYER("SoftmaxWithLossOHEM", SoftmaxLossOhemLayer);

[[maybe_unused]] const bool registered_softmax_loss_ohem = register_cross_entropy("SoftmaxWithLossOHEM");

}  // namespace
}  // namespace robusta
