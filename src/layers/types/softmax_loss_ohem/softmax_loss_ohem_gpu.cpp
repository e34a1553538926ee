// SoftmaxWithLossOHEM on the GPU.

#include "layers/backends/gpu/cross_entropy.h"

namespace robusta {
namespace {

template <typename T>
using SoftmaxWithLossOhemGpu = CrossEntropyGpu<T>;

}  // namespace

ROBUSTA_REGISTER_GPU_AS_BOTTOM("SoftmaxWithLossOHEM", SoftmaxWithLossOhemGpu);

}  // namespace robusta
