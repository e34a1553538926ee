// Bias, sum, ReLU and their gradients for results in memory, in packs where addresses allow; filters between Caffe's
// order and channels last are transposed matrices.

#include "layers/types/convolution/convolution_steps_gpu.h"

#include <cassert>

#include "layers/backends/gpu/channels.h"

namespace robusta {
namespace {

ChannelView channel_view(const ResultView& view) {
  if (view.channels_last) return {view.batch * view.pixels, view.channels, 1};
  return {view.batch, view.channels, view.pixels};
}

template <typename T>
struct FinishResult {
  static constexpr int kWidth = kPackWidth<T>;
  const float* bias;
  const T* addend;
  bool relu;
  float slope;
  T* y;
  bool in_packs() const { return on_packs(y, addend) && on_packs(bias); }
  template <int N, bool kAcross>
  ROBUSTA_GPU Pack<float, N> known(Channels<N, kAcross> channels) const {
    Pack<float, N> biases = {};
    if (bias) biases = channels.of(bias);
    return biases;
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(y + i), addend ? stored_pack<N>(addend + i) : Pack<T, N>{}};
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const PackPair<T, N>& stored, const Pack<float, N>& biases) const {
    Pack<float, N> sums = as_floats(stored.first);
    const Pack<float, N> others = as_floats(stored.second);
    for (int k = 0; k < N; ++k) {
      sums.at[k] += biases.at[k] + others.at[k];
      sums.at[k] = relu && !(sums.at[k] > 0) ? slope * sums.at[k] : sums.at[k];
    }
    store_pack(sums, y + i);
  }
  void touches(int64_t count, KernelArrays& to) const {
    to.add(y, count, 2);
    to.add(addend, count);
  }
};

/// What comes down through a ReLU whose result was y.
template <typename T>
struct MaskGradient {
  static constexpr int kWidth = kPackWidth<T>;
  const T *y, *dy;
  float slope;
  T* masked;
  bool in_packs() const { return on_packs(y, dy, masked); }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(y + i), stored_pack<N>(dy + i)};
  }
  template <int N>
  ROBUSTA_GPU Pack<float, N> of(const PackPair<T, N>& stored) const {
    const Pack<float, N> results = as_floats(stored.first);
    Pack<float, N> gradients = as_floats(stored.second);
    for (int k = 0; k < N; ++k) gradients.at[k] *= results.at[k] > 0 ? 1.0f : slope;
    return gradients;
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    store_pack(of(load<N>(i)), masked + i);
  }
};

/// The same, and its sums by channel.
template <typename T>
struct MaskGradientAndSum {
  static constexpr int kSums = 1, kWidth = kPackWidth<T>;
  MaskGradient<T> mask;
  float* db;
  bool adds;
  bool in_packs() const { return mask.in_packs(); }
  template <int N, bool kAcross>
  ROBUSTA_GPU bool known(Channels<N, kAcross>) const {
    return true;
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return mask.template load<N>(i);
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t i, const PackPair<T, N>& stored, bool, ChannelTerms<1, N>& to) const {
    const Pack<float, N> gradients = mask.of(stored);
    store_pack(gradients, mask.masked + i);
    for (int k = 0; k < N; ++k) to.at[0][k] += gradients.at[k];
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[1]) const { hand_over(sum[0], adds, db[c]); }
};

template <typename T>
struct ResultSums {
  static constexpr int kSums = 2, kWidth = kPackWidth<T>;
  const T* y;
  float* sums;
  int64_t channels;
  bool in_packs() const { return on_packs(y); }
  template <int N, bool kAcross>
  ROBUSTA_GPU bool known(Channels<N, kAcross>) const {
    return true;
  }
  template <int N>
  ROBUSTA_GPU Pack<T, N> load(int64_t i) const {
    return stored_pack<N>(y + i);
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const Pack<T, N>& stored, bool, ChannelTerms<2, N>& to) const {
    const Pack<float, N> values = as_floats(stored);
    for (int k = 0; k < N; ++k) {
      to.at[0][k] += values.at[k];
      to.at[1][k] += values.at[k] * values.at[k];
    }
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[2]) const {
    sums[c] = static_cast<float>(sum[0]);
    sums[channels + c] = static_cast<float>(sum[1]);
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
  void touches(int64_t count, KernelArrays& touched) const {
    touched.add(from, count);
    touched.add(to, count, add ? 2 : 1);
  }
};

/// The same where nothing changes places.
template <typename From, typename To>
struct ConvertFilters {
  static constexpr int kWidth = kPackWidth<From, To>;
  const From* from;
  bool add;
  To* to;
  bool in_packs() const { return on_packs(from) && on_packs(to); }
  template <int N>
  ROBUSTA_GPU void run(int64_t i) const {
    Pack<float, N> values = load_pack<N>(from + i);
    if (add) {
      const Pack<float, N> there = load_pack<N>(to + i);
      for (int k = 0; k < N; ++k) values.at[k] += there.at[k];
    }
    store_pack(values, to + i);
  }
  void touches(int64_t count, KernelArrays& touched) const {
    touched.add(from, count);
    touched.add(to, count, add ? 2 : 1);
  }
};

}  // namespace

inline namespace ROBUSTA_GPU_TARGET {

void finish_result(Stream* stream, const ResultView& view, const ResultSteps& steps, void* y) {
  if (!steps.bias && !steps.addend && !steps.relu) return;
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    for_each_by_channel(
        stream, channel_view(view),
        FinishResult<T>{steps.bias, static_cast<const T*>(steps.addend), steps.relu, steps.slope, static_cast<T*>(y)});
  });
}

size_t bias_gradient_scratch(const ResultView& view) {
  return with_storage(view.type,
                      [&](auto t) { return channel_sums_scratch<ChannelDot<decltype(t)>>(channel_view(view)); });
}

void bias_gradient(Stream* stream, const ResultView& view, const void* dy, const BiasGradient& to, void* scratch) {
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    channel_sums(stream, channel_view(view), scratch,
                 ChannelDot<T>{static_cast<const T*>(dy), nullptr, to.sums, to.add});
  });
}

void mask_gradient(Stream* stream, const ResultView& view, const void* y, const void* dy, float slope, void* masked,
                   const BiasGradient& bias, void* scratch) {
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    const MaskGradient<T> mask{static_cast<const T*>(y), static_cast<const T*>(dy), slope, static_cast<T*>(masked)};
    if (!bias.sums) return for_each_pack(stream, view.count(), mask);
    channel_sums(stream, channel_view(view), scratch, MaskGradientAndSum<T>{mask, bias.sums, bias.add});
  });
}

size_t result_sums_scratch(const ResultView& view) {
  return with_storage(view.type,
                      [&](auto t) { return channel_sums_scratch<ResultSums<decltype(t)>>(channel_view(view)); });
}

void sum_results(Stream* stream, const ResultView& view, const void* y, float* sums, void* scratch) {
  with_storage(view.type, [&](auto t) {
    using T = decltype(t);
    channel_sums(stream, channel_view(view), scratch, ResultSums<T>{static_cast<const T*>(y), sums, view.channels});
  });
}

void transpose_filters(Stream* stream, int64_t outputs, int64_t rows, int64_t cols, const FilterArray& from, bool add,
                       const FilterArray& to) {
  const auto run = [&]<typename From, typename To>(From, To) {
    const auto* source = static_cast<const From*>(from.data);
    auto* target = static_cast<To*>(to.data);
    if (rows == 1 || cols == 1) {
      return for_each_pack(stream, outputs * rows * cols, ConvertFilters<From, To>{source, add, target});
    }
    for_each(stream, outputs * rows * cols,
             TransposeFilters<From, To>{Divisor(rows), Divisor(cols), cols, rows * cols, source, add, target});
  };
  assert(from.type == DType::kF32 || to.type == DType::kF32);
  if (from.type == DType::kF32) return with_storage(to.type, [&](auto t) { run(float{}, t); });
  with_storage(from.type, [&](auto t) { run(t, float{}); });
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
