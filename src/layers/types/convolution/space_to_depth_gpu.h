/// Convolutions of few channels and a stride, as those of images are, as ones of more channels without a stride.
///
/// cuDNN's kernels for 16 bits take channels in eights: of three it multiplies eight. With s for the stride, the pixels
/// of each s x s block of the image become channels ("space to depth"), padding included, and the kernel's taps
/// likewise; taps and channels that there are not are zeros. ResNet-50's first convolution, 7 x 7 x 3 of stride 2,
/// becomes one of 4 x 4 x 16: per pixel of the result 256 products instead of 392.
#pragma once

#include <optional>

#include "device/device.h"
#include "device/gpu/target.h"
#include "ops/convolution_geometry.h"
#include "tensor/dtype.h"

namespace robusta {

struct SpaceToDepth {
  ConvolutionGeometry plain, folded;

  /// Null where it would not make fewer products.
  static std::optional<SpaceToDepth> of(const ConvolutionGeometry& plain);
};

inline namespace ROBUSTA_GPU_TARGET {

/// An image [batch, channels, height, width] as the folded convolution reads it: [batch, height, width, channels] of
/// 16 bits.
void fold_image(Stream* stream, const SpaceToDepth& how, const float* image, DType type, void* folded);

/// Filters [outputs, channels, height, width] as [outputs, height, width, channels], each output times its factor;
/// `factors` null: 1.
void fold_filters(Stream* stream, const SpaceToDepth& how, const float* filters, const float* factors, DType type,
                  void* folded);

/// The way back for their gradient; with `add` it is added to what is there.
void unfold_filters(Stream* stream, const SpaceToDepth& how, DType type, const void* folded, bool add, float* filters);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
