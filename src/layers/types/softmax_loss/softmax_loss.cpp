// SoftmaxWithLoss: the layer, and its kernels of the CPU (kit/cross_entropy.h).

#include "layers/kit/cross_entropy.h"

namespace robusta {

ROBUSTA_REGISTER_LAYER("SoftmaxWithLoss", CrossEntropyLayer);

[[maybe_unused]] static const bool registered_softmax_loss = register_cross_entropy("SoftmaxWithLoss");

}  // namespace robusta
