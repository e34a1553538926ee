/// Registers a loss of one cost (kit/class_loss.h) with all its kernels. For files named *_formula.cpp.
///
/// Such a file is compiled twice (backends/formula.h): the host's compiler makes the layer, the reference and the
/// emulated kernel of it, nvcc the kernel of GPUs alone.
#pragma once

#include "layers/backends/gpu/class_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <template <typename> class Cost>
bool register_class_loss(const std::string& type) {
#ifndef __CUDACC__
  register_layer(type, [](const caffe::LayerParameter& param) -> std::unique_ptr<Layer> {
    return std::make_unique<ClassLossLayer>(param);
  });
  register_kernel({type, "reference", "cpu", 0, make_class_loss_reference<Cost>});
#endif
  return register_kernel({type, "gpu", kGpuKind, 10, make_class_loss_gpu<Cost>});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// At namespace scope: `ROBUSTA_REGISTER_CLASS_LOSS("HingeLoss", HingeCost);`
#define ROBUSTA_REGISTER_CLASS_LOSS(type, Cost) \
  static const bool registered_##Cost = ::robusta::register_class_loss<Cost>(type)
