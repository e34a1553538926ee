/// What the factories of GPU kernels share: which element types they take, and for which one they are made. For files
/// named *_gpu.cpp.
#pragma once

#include "device/gpu/pack.h"
#include "layers/kit/elementwise.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// False, with a reason, for element types that GPU kernels do not take.
inline bool gpu_takes(const KernelRequest& request, std::string& why_not) {
  return request.dtype() != DType::kF64 || is_f32(request, why_not);
}

/// Makes `Stored<T>(request, more...)`, T being the type that activations are stored as.
template <template <typename> class Stored, typename... More>
std::unique_ptr<Kernel> make_stored(const KernelRequest& request, const More&... more) {
  return with_storage(request.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Stored<decltype(t)>>(request, more...);
  });
}

/// The same, T being what bottom 0 is stored as already: for kernels whose tops are f32 in any
/// case, or keep the type of their bottom.
template <template <typename> class Stored, typename... More>
std::unique_ptr<Kernel> make_as_bottom(const KernelRequest& request, const More&... more) {
  return with_storage(request.bottoms[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Stored<decltype(t)>>(request, more...);
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
