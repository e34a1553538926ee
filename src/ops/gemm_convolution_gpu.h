/// The passes of GemmConvolution (gemm_convolution.h) on the GPU: what serves where cuDNN does not. Plain arrays of
/// float, BFloat16 or Half; gradients of weights are f32. For files named *_gpu.cpp.
#pragma once

#include "device/device.h"
#include "device/gpu/target.h"
#include "ops/convolution_geometry.h"
#include "tensor/dtype.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// `columns` is scratch of column_bytes(): the columns of as many images as are worth it at a time.
template <typename T>
class GemmConvolutionGpu {
 public:
  /// More columns at a time than fill a GPU gain nothing.
  static constexpr int64_t kColumnBytes = 32 << 20;

  /// One image's columns may take more than `most_column_bytes`.
  /// REQUIRES: at most kGpuWindowAxes axes (ops/im2col_gpu.h).
  explicit GemmConvolutionGpu(const ConvolutionGeometry& geometry, int64_t most_column_bytes = kColumnBytes);

  size_t column_bytes() const;

  /// output = convolution of image.
  void convolve(Stream* stream, const T* image, const T* weights, T* output, T* columns) const;
  /// image = transposed convolution of output.
  void deconvolve(Stream* stream, const T* output, const T* weights, T* image, T* columns) const;
  /// weight_diff = (add ? weight_diff : 0) + gradient of sum(convolve(image) * output).
  void correlate(Stream* stream, const T* image, const T* output, bool add, float* weight_diff, T* columns) const;

 private:
  /// body(first image, number of images) for as many images at a time as `columns` has room for.
  template <typename Body>
  void for_chunks(const Body& body) const;
  /// body(image of a chunk, group).
  template <typename Body>
  void for_groups(int64_t images, const Body& body) const {
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t g = 0; g < geometry_.group; ++g) body(n, g);
    }
  }
  /// The columns of a chunk.
  const T* columns_of(Stream* stream, const T* images, int64_t count, T* columns) const;
  /// Where a group's part of an image's columns begins, and of an output.
  int64_t patch(int64_t n, int64_t g) const { return (n * geometry_.group + g) * depth_ * places_; }
  int64_t result(int64_t n, int64_t g) const { return (n * geometry_.group + g) * rows_ * places_; }

  ConvolutionGeometry geometry_;
  bool pointwise_;                 ///< the columns would be a copy of the image
  int64_t image_size_;             ///< elements of one image
  int64_t rows_, depth_, places_;  ///< per group: outputs, channels * taps; places of the output
  int64_t images_at_once_;         ///< whose columns fit the scratch memory
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
