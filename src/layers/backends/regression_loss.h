/// Registers a loss of one distance (kit/regression_loss.h) with all its kernels. For files named *_formula.cpp.
///
/// Such a file is compiled twice (backends/formula.h): the host's compiler makes the layer, the reference and the
/// emulated kernel of it, nvcc the kernel of GPUs alone.
#pragma once

#include "layers/backends/gpu/regression_loss.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <template <typename> class Distance, typename LayerClass = RegressionLossLayer>
bool register_regression_loss(const std::string& type) {
#ifndef __CUDACC__
  register_layer(type, [](const caffe::LayerParameter& param) -> std::unique_ptr<Layer> {
    return std::make_unique<LayerClass>(param);
  });
  register_kernel({type, "reference", "cpu", 0, make_regression_reference<Distance>});
#endif
  return register_kernel({type, "gpu", kGpuKind, 10, make_regression_gpu<Distance>});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// At namespace scope: `ROBUSTA_REGISTER_REGRESSION_LOSS("L1Loss", AbsoluteDistance);`, and behind the distance the
/// layer's class where it is not RegressionLossLayer.
#define ROBUSTA_REGISTER_REGRESSION_LOSS(type, Distance, ...) \
  static const bool registered_##Distance =                   \
      ::robusta::register_regression_loss<Distance __VA_OPT__(, ) __VA_ARGS__>(type)
