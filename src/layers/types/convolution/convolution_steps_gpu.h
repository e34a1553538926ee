/// What a convolution on the GPU does besides the convolution itself: bias, ReLU, and filters in another order. Written
/// for cuDNN's kernels (convolution_cuda.cpp), which lack these steps for some shapes.
#pragma once

#include "device/device.h"
#include "device/gpu/target.h"
#include "tensor/dtype.h"

namespace robusta {

/// The result of a convolution in memory: [batch, channels, pixels], or channels last.
struct ResultView {
  int64_t batch = 1, channels = 1, pixels = 1;
  bool channels_last = false;
  DType type = DType::kF32;  ///< or 16 bits
  int64_t count() const { return batch * channels * pixels; }
};

inline namespace ROBUSTA_GPU_TARGET {

/// What comes behind a convolution: y = y + bias[channel] + addend, then, with `relu`, slope * y where that is
/// negative.
struct ResultSteps {
  const float* bias = nullptr;   ///< null: none
  const void* addend = nullptr;  ///< as the result; null: none
  bool relu = false;
  float slope = 0;
};
/// In one launch; in none, where there is nothing to do.
void finish_result(Stream* stream, const ResultView& view, const ResultSteps& steps, void* y);

/// Where the sums over the channels of a gradient go: sums[c] = (add ? sums[c] : 0) + sum.
struct BiasGradient {
  float* sums = nullptr;  ///< null: nobody asks
  bool add = false;
};

/// Bytes of scratch for the sums.
size_t bias_gradient_scratch(const ResultView& view);
/// The sums of dy.
void bias_gradient(Stream* stream, const ResultView& view, const void* dy, const BiasGradient& to, void* scratch);

/// masked = dy where y, what the ReLU gave, is positive, else slope * dy; and the sums of that, in the same pass.
void mask_gradient(Stream* stream, const ResultView& view, const void* y, const void* dy, float slope, void* masked,
                   const BiasGradient& bias, void* scratch);

/// Bytes of scratch for what follows.
size_t result_sums_scratch(const ResultView& view);
/// The sums of y by channel, then those of its squares: what a library that sums its results gives besides.
void sum_results(Stream* stream, const ResultView& view, const void* y, float* sums, void* scratch);

struct FilterArray {
  DType type;
  void* data;
};
/// Per output, a matrix of rows x cols in `from` becomes its transpose in `to`, or, with `add`, is added there. Filters
/// are channels x taps in Caffe's order, taps x channels where channels come last. REQUIRES: one of both is f32.
void transpose_filters(Stream* stream, int64_t outputs, int64_t rows, int64_t cols, const FilterArray& from, bool add,
                       const FilterArray& to);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
