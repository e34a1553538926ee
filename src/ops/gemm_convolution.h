/// Convolution by im2col and matrix products, image by image: the three passes that Convolution and Deconvolution are
/// made of. Plain arrays, any number of spatial axes.
///
/// "Image" is the side with `channels` and `in`, "output" the side with `num_output` and `out`. `columns` is scratch of
/// column_elements() elements.
#pragma once

#include <span>

#include "ops/convolution_geometry.h"
#include "tensor/tensor.h"

namespace robusta {

template <typename T>
class GemmConvolution {
 public:
  explicit GemmConvolution(const ConvolutionGeometry& geometry);

  /// Zero when the columns would be a copy of the image.
  size_t column_elements() const;

  /// output = convolution of image.
  void convolve(const T* image, const T* weights, T* output, T* columns) const;
  /// image = transposed convolution of output.
  void deconvolve(const T* output, const T* weights, T* image, T* columns) const;
  /// weight_diff = beta * weight_diff + gradient of sum(convolve(image) * output).
  void correlate(const T* image, const T* output, T beta, T* weight_diff, T* columns) const;

 private:
  /// The columns of image `n`.
  const T* columns_of(const T* image, int64_t n, T* columns) const;

  ConvolutionGeometry geometry_;
  bool pointwise_;                    ///< images are their own columns: nothing is unfolded
  int64_t image_size_, output_size_;  // elements of one image, of one output
  int64_t rows_, depth_, places_;     // per group: outputs, channels * taps; spatial positions of the output
};

/// top[n, c, :] += bias[c].
template <typename T>
void add_bias(const T* bias, int64_t batch, int64_t channels, int64_t plane, T* top);

/// bias_diff[c] = (accumulate ? bias_diff[c] : 0) + sum of top_diffs[.][n, c, :].
template <typename T>
void sum_bias_gradient(std::span<const Tensor> top_diffs, int64_t batch, int64_t channels, int64_t plane,
                       bool accumulate, T* bias_diff);

}  // namespace robusta
