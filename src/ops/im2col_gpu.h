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
/// REQUIRES: at most kGpuWindowAxes axes.
void gpu_im2col(Stream* stream, const float* images, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                float* columns);

/// The transpose, as a gather: each element of an image is the sum of the columns that it went to, in order of taps.
void gpu_col2im(Stream* stream, const float* columns, int64_t count, int64_t channels, std::span<const WindowAxis> axes,
                float* images);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
