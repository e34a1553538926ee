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

/// For kernels that take bottom 0 as it is stored, T: other bottoms (labels, targets) and all tops are f32.
template <typename T>
void book_scores(const KernelRequest& request, Booking& booking) {
  booking.bottom_types.assign(request.bottoms.size(), DType::kF32);
  booking.bottom_types[0] = dtype_of<T>();
  booking.top_types.assign(request.tops.size(), DType::kF32);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta

/// Register `Class<T>`, with constructor Class(const KernelRequest&), as the GPU's kernel of a layer type: made by
/// make_stored, or by make_as_bottom.
#define ROBUSTA_REGISTER_GPU_STORED(type, Class) ROBUSTA_REGISTER_GPU_MADE(type, Class, make_stored)
#define ROBUSTA_REGISTER_GPU_AS_BOTTOM(type, Class) ROBUSTA_REGISTER_GPU_MADE(type, Class, make_as_bottom)
#define ROBUSTA_REGISTER_GPU_MADE(type, Class, make)                                                  \
  static std::unique_ptr<::robusta::Kernel> make_gpu_##Class(const ::robusta::KernelRequest& request, \
                                                             std::string& why_not) {                  \
    if (!::robusta::gpu_takes(request, why_not)) return nullptr;                                      \
    return ::robusta::make<Class>(request);                                                           \
  }                                                                                                   \
  ROBUSTA_REGISTER_GPU_KERNEL(type, "gpu", 10, make_gpu_##Class)
