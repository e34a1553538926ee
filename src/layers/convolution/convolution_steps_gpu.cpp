#include "layers/convolution/convolution_steps_gpu.h"

#include "layers/gpu_channels.h"

namespace robusta {
namespace {

ChannelView channel_view(const ResultView& view) {
  if (view.channels_last) return {view.batch * view.pixels, view.channels, 1};
  return {view.batch, view.channels, view.pixels};
}

struct AddBiasAndRelu {
  ChannelOf channel;
  const float* bias;
  bool relu;
  float slope;
  float* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float sum = bias ? y[i] + bias[channel(i)] : y[i];
    y[i] = relu && !(sum > 0) ? slope * sum : sum;
  }
};

struct MaskGradient {
  const float *y, *dy;
  float slope;
  float* masked;
  ROBUSTA_GPU void operator()(int64_t i) const { masked[i] = y[i] > 0 ? dy[i] : slope * dy[i]; }
};

struct TransposeFilters {
  Divisor rows, cols;
  int64_t row_length, size;
  const float* from;
  bool add;
  float* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t output = i;
    const int64_t row = rows.take_off(output), col = cols.take_off(output);
    const float value = from[output * size + row * row_length + col];
    to[i] = add ? to[i] + value : value;
  }
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

void add_bias_and_relu(Stream* stream, const ResultView& view, const float* bias, bool relu, float slope, float* y) {
  if (!bias && !relu) return;
  for_each(stream, view.count(), AddBiasAndRelu{channel_view(view).channel_of(), bias, relu, slope, y});
}

void mask_gradient(Stream* stream, int64_t count, const float* y, const float* dy, float slope, float* masked) {
  for_each(stream, count, MaskGradient{y, dy, slope, masked});
}

size_t bias_gradient_scratch(const ResultView& view) {
  return channel_sums_scratch<ChannelDot<float>>(channel_view(view));
}

void bias_gradient(Stream* stream, const ResultView& view, const float* dy, bool add, void* scratch, float* db) {
  channel_sums(stream, channel_view(view), scratch, ChannelDot<float>{dy, nullptr, db, add});
}

void transpose_filters(Stream* stream, int64_t outputs, int64_t rows, int64_t cols, const float* from, bool add,
                       float* to) {
  for_each(stream, outputs * rows * cols,
           TransposeFilters{Divisor(rows), Divisor(cols), cols, rows * cols, from, add, to});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
