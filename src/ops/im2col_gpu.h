/// im2col and col2im (ops/im2col.h) in a GPU's memory, for several images at once. For files named *_gpu.cpp.
#pragma once

#include <span>

#include "device/device.h"
#include "device/gpu/target.h"
#include "ops/window.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The most spatial axes that these take.
inline constexpr size_t kGpuWindowAxes = 8;

/// The columns of image k go to columns + k * channels * taps * elements_out.
/// T is float, BFloat16 or Half. REQUIRES: at most kGpuWindowAxes axes.
template <typename T>
void gpu_im2col(Stream* stream, const T* images, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                T* columns);

/// The transpose, as a gather: each element of an image is the sum of the columns that it went to, in order of taps.
template <typename T>
void gpu_col2im(Stream* stream, const T* columns, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                T* images);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
