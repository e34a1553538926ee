/// Registers a layer of one formula (kit/unary.h) with all its kernels. For files named *_formula.cpp.
///
/// Such a file is compiled twice, as *_gpu.cpp are (device/gpu/target.h): by the host's compiler for the layer itself,
/// the reference, the native and the emulated kernel, and by nvcc for the kernel of GPUs alone.
#pragma once

#include "layers/backends/gpu/unary.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

template <template <typename> class Formula, typename LayerClass = ElementwiseLayer>
bool register_formula(const std::string& type) {
#ifndef __CUDACC__
  register_layer(type, [](const caffe::LayerParameter& param) -> std::unique_ptr<Layer> {
    return std::make_unique<LayerClass>(param);
  });
  register_kernel({type, "reference", "cpu", 0, make_unary_reference<Formula>});
  register_kernel({type, "native", "cpu", 10, make_unary_native<Formula>});
#endif
  return register_kernel({type, "gpu", kGpuKind, 10, make_unary_gpu<Formula>});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// At namespace scope: `ROBUSTA_REGISTER_FORMULA("Sigmoid", Sigmoid);`, and behind the formula the layer's class where
/// it is not ElementwiseLayer.
#define ROBUSTA_REGISTER_FORMULA(type, Formula, ...) \
  static const bool registered_formula_##Formula = ::robusta::register_formula<Formula __VA_OPT__(, ) __VA_ARGS__>(type)
