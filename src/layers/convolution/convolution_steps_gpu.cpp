#include "layers/convolution/convolution_steps_gpu.h"

#include "layers/gpu_channels.h"

namespace robusta {
namespace {

ChannelView channel_view(const ResultView& view) {
  if (view.channels_last) return {view.batch * view.pixels, view.channels, 1};
  return {view.batch, view.channels, view.pixels};
}

template <typename T>
struct AddBiasAndRelu {
  ChannelOf channel;
  const float* bias;
  bool relu;
  float slope;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const float sum = bias ? static_cast<float>(y[i]) + bias[channel(i)] : static_cast<float>(y[i]);
    y[i] = static_cast<T>(relu && !(sum > 0) ? slope * sum : sum);
  }
};

template <typename T>
struct MaskGradient {
  const T *y, *dy;
  float slope;
  T* masked;
  ROBUSTA_GPU void operator()(int64_t i) const {
    masked[i] = static_cast<float>(y[i]) > 0 ? dy[i] : static_cast<T>(slope * static_cast<float>(dy[i]));
  }
};

template <typename From, typename To>
struct TransposeFilters {
  Divisor rows, cols;
  int64_t row_length, size;
  const From* from;
  bool add;
  To* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t output = i;
    const int64_t row = rows.take_off(output), col = cols.take_off(output);
    const float value = static_cast<float>(from[output * size + row * row_length + col]);
    to[i] = static_cast<To>(add ? static_cast<float>(to[i]) + value : value);
  }
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

void add_bias_and_relu(Stream* stream, const ResultView& view, const float* bias, bool relu, float slope, void* y) {
  if (!bias && !relu) return;
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    for_each(stream, view.count(),
             AddBiasAndRelu<T>{channel_view(view).channel_of(), bias, relu, slope, static_cast<T*>(y)});
  });
}

void mask_gradient(Stream* stream, const ResultView& view, const void* y, const void* dy, float slope, void* masked) {
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    for_each(stream, view.count(),
             MaskGradient<T>{static_cast<const T*>(y), static_cast<const T*>(dy), slope, static_cast<T*>(masked)});
  });
}

size_t bias_gradient_scratch(const ResultView& view) {
  return channel_sums_scratch<ChannelDot<float>>(channel_view(view));
}

void bias_gradient(Stream* stream, const ResultView& view, const void* dy, bool add, void* scratch, float* db) {
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    channel_sums(stream, channel_view(view), scratch, ChannelDot<T>{static_cast<const T*>(dy), nullptr, db, add});
  });
}

void transpose_filters(Stream* stream, int64_t outputs, int64_t rows, int64_t cols, const FilterArray& from, bool add,
                       const FilterArray& to) {
  with_storage(from.type, [&](auto a) {
    with_storage(to.type, [&](auto b) {
      using From = decltype(a);
      using To = decltype(b);
      for_each(stream, outputs * rows * cols,
               TransposeFilters<From, To>{Divisor(rows), Divisor(cols), cols, rows * cols,
                                          static_cast<const From*>(from.data), add, static_cast<To*>(to.data)});
    });
  });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
