// SoftmaxWithLoss on the GPU.

#include "layers/backends/gpu/cross_entropy.h"

namespace robusta {
namespace {

template <typename T>
using SoftmaxWithLossGpu = CrossEntropyGpu<T>;

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("SoftmaxWithLoss", SoftmaxWithLossGpu);

}  // namespace robusta
