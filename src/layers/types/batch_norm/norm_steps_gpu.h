/// What BatchNorm computes on the GPU, alone or with the Scale and ReLU after it. For files named *_gpu.cpp.
///
/// Memory traffic is all that counts: forward reads x twice and writes y, backward reads x and dy twice and writes dx.
/// The ReLU's mask is computed from x again.
#pragma once

#include <cmath>

#include "layers/backends/gpu/channels.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// NormArrays for N neighbouring elements.
template <int N>
struct NormPack {
  Pack<float, N> mean, factor, shift;
  float slope;
  ROBUSTA_GPU float value(float x, int k) const { return (x - mean.at[k]) * factor.at[k] + shift.at[k]; }
  ROBUSTA_GPU float gain(float v) const { return v > 0 ? 1.0f : slope; }
};

/// What normalising needs of each channel: v = (x - mean) * factor + shift, then y = v or, if that is not positive,
/// slope * v; slope 1: no ReLU. factor = inverse * scale.
struct NormArrays {
  float *mean, *inverse, *factor, *shift;
  float slope;
  bool in_packs() const { return on_packs(mean, inverse, factor, shift); }
  template <int N, bool kAcross>
  ROBUSTA_GPU NormPack<N> of(Channels<N, kAcross> channels) const {
    return {channels.of(mean), channels.of(factor), channels.of(shift), slope};
  }
};

/// Fills the arrays of a channel from its statistics. `scale` and `shift` may be null.
struct NormSettings {
  NormArrays to;
  const float *scale, *shift;
  double eps;
  ROBUSTA_GPU void set(int64_t c, double mean, double variance) const {
    const double inverse = 1 / ::sqrt(variance + eps);
    to.mean[c] = static_cast<float>(mean);
    to.inverse[c] = static_cast<float>(inverse);
    to.factor[c] = static_cast<float>(inverse * (scale ? scale[c] : 1.0f));
    to.shift[c] = shift ? shift[c] : 0.0f;
  }
};

/// The stored statistics, which the batch's are added to.
struct NormStatistics {
  float *means, *variances, *batches;
  double fraction, unbiased;
  ROBUSTA_GPU void add(int64_t c, double mean, double variance) const {
    means[c] = static_cast<float>(means[c] * fraction + mean);
    variances[c] = static_cast<float>(variances[c] * fraction + variance * unbiased);
    if (c == 0) *batches = static_cast<float>(*batches * fraction + 1);
  }
};

/// From the stored statistics.
struct NormFromStored {
  NormSettings settings;
  NormStatistics stored;
  ROBUSTA_GPU void operator()(int64_t c) const {
    const double norm = *stored.batches == 0 ? 0 : 1 / static_cast<double>(*stored.batches);
    settings.set(c, stored.means[c] * norm, stored.variances[c] * norm);
  }
};

/// From the batch's: all means, then all variances.
struct NormFromBatch {
  NormSettings settings;
  NormStatistics stored;
  const double* moments;
  int64_t channels;
  ROBUSTA_GPU void operator()(int64_t c) const {
    stored.add(c, moments[c], moments[channels + c]);
    settings.set(c, moments[c], moments[channels + c]);
  }
};

/// Mean and variance of each channel. Terms are differences from the channel's first element: their squares do not
/// swamp the variance where the mean is large.
template <typename T>
struct NormMoments {
  static constexpr int kSums = 2, kWidth = kPackWidth<T>;
  const T* x;
  ChannelView view;
  NormSettings settings;
  NormStatistics stored;
  double* moments;  ///< null: nobody else's count, and the channel is finished at once
  bool in_packs() const { return on_packs(x); }
  template <int N, bool kAcross>
  ROBUSTA_GPU Pack<float, N> known(Channels<N, kAcross> channels) const {
    return channels.of(x, view.inner);
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t i, const Pack<float, N>& first, ChannelTerms<2, N>& to) const {
    const Pack<float, N> values = load_pack<N>(x + i);
    for (int k = 0; k < N; ++k) {
      const float difference = values.at[k] - first.at[k];
      to.at[0][k] += difference;
      to.at[1][k] += difference * difference;
    }
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sums)[2]) const {
    const auto elements = static_cast<double>(view.outer * view.inner);
    const double difference = sums[0] / elements, square = sums[1] / elements - difference * difference;
    const double mean = static_cast<float>(x[c * view.inner]) + difference, variance = square > 0 ? square : 0;
    if (moments) {
      moments[c] = mean;
      moments[view.count + c] = variance;
    } else {
      stored.add(c, mean, variance);
      settings.set(c, mean, variance);
    }
  }
};

template <typename T>
struct NormEach {
  static constexpr int kWidth = kPackWidth<T>;
  NormArrays norm;
  const T* x;
  T* y;
  bool in_packs() const { return norm.in_packs() && on_packs(x, y); }
  template <int N, bool kAcross>
  ROBUSTA_GPU NormPack<N> known(Channels<N, kAcross> channels) const {
    return norm.of(channels);
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const NormPack<N>& known) const {
    Pack<float, N> values = load_pack<N>(x + i);
    for (int k = 0; k < N; ++k) {
      const float value = known.value(values.at[k], k);
      values.at[k] = value * known.gain(value);
    }
    store_pack(values, y + i);
  }
};

/// With h = (x - mean) * inverse and g the gradient before the ReLU, the gradient is dx = factor * (g - sum(g) / m -
/// h * sum(g h) / m); `constant` and `linear` are what g and x - mean are joined by.
struct NormCoefficients {
  float *constant, *linear;
  const float* inverse;
  double elements;  ///< m
  ROBUSTA_GPU void set(int64_t c, double sum, double sum_by_value) const {
    constant[c] = static_cast<float>(sum / elements);
    linear[c] = static_cast<float>(sum_by_value / elements * inverse[c]);
  }
};

/// From all sum(g), then all sum(g h).
struct NormCoefficientsFromSums {
  NormCoefficients to;
  const double* sums;
  int64_t channels;
  ROBUSTA_GPU void operator()(int64_t c) const { to.set(c, sums[c], sums[channels + c]); }
};

/// sum(g) and sum(g h) of each channel, which are also the gradients of shift and scale where those are not null. x may
/// be null: then there is no ReLU, and the second sum is zero.
template <typename T>
struct NormGradientSums {
  static constexpr int kSums = 2, kWidth = kPackWidth<T>;
  NormArrays norm;
  const T *x, *dy;
  float *scale_gradient, *shift_gradient;
  bool add_to_scale, add_to_shift;
  NormCoefficients coefficients;
  double* sums;  ///< null: nobody else's count, and the coefficients are set at once
  int64_t channels;
  bool in_packs() const { return norm.in_packs() && on_packs(x, dy); }
  template <int N, bool kAcross>
  ROBUSTA_GPU NormPack<N> known(Channels<N, kAcross> at) const {
    return norm.of(at);
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t i, const NormPack<N>& known, ChannelTerms<2, N>& to) const {
    const Pack<float, N> slopes = load_pack<N>(dy + i);
    if (!x) {
      for (int k = 0; k < N; ++k) to.at[0][k] += slopes.at[k];
      return;
    }
    const Pack<float, N> values = load_pack<N>(x + i);
    for (int k = 0; k < N; ++k) {
      const float g = slopes.at[k] * known.gain(known.value(values.at[k], k));
      to.at[0][k] += g;
      to.at[1][k] += g * (values.at[k] - known.mean.at[k]);
    }
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[2]) const {
    const double by_value = sum[1] * norm.inverse[c];
    if (shift_gradient) hand_over(sum[0], add_to_shift, shift_gradient[c]);
    if (scale_gradient) hand_over(by_value, add_to_scale, scale_gradient[c]);
    if (sums) {
      sums[c] = sum[0];
      sums[channels + c] = by_value;
    } else {
      coefficients.set(c, sum[0], by_value);
    }
  }
};

/// x may be null when there is no ReLU either. dx may be dy.
template <typename T>
struct NormPropagate {
  static constexpr int kWidth = kPackWidth<T>;
  NormArrays norm;
  const float *constants, *linears;  ///< null with stored statistics
  const T *x, *dy;
  T* dx;
  bool in_packs() const { return norm.in_packs() && on_packs(constants, linears) && on_packs(x, dy, dx); }
  template <int N>
  struct Known {
    NormPack<N> norm;
    Pack<float, N> constant, linear;
  };
  template <int N, bool kAcross>
  ROBUSTA_GPU Known<N> known(Channels<N, kAcross> channels) const {
    Known<N> known{norm.of(channels), {}, {}};
    if (constants) known.constant = channels.of(constants), known.linear = channels.of(linears);
    return known;
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const Known<N>& known) const {
    const NormPack<N>& at = known.norm;
    Pack<float, N> g = load_pack<N>(dy + i);
    if (x) {
      const Pack<float, N> values = load_pack<N>(x + i);
      for (int k = 0; k < N; ++k) {
        g.at[k] *= at.gain(at.value(values.at[k], k));
        g.at[k] -= known.constant.at[k] + (values.at[k] - at.mean.at[k]) * known.linear.at[k];
      }
    }
    for (int k = 0; k < N; ++k) g.at[k] *= at.factor.at[k];
    store_pack(g, dx + i);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
