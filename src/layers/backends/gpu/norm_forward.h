/// Normalising channels forward on the GPU: mean and variance of each channel, of the batch or stored; then all
/// elements (norm_arrays.h). For files named *_gpu.cpp.
#pragma once

#include <cmath>
#include <type_traits>

#include "layers/backends/gpu/norm_arrays.h"
#include "layers/kit/norm_eps.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// What NormArrays hold of one channel.
struct NormChannel {
  float mean, inverse, factor, shift;
};

/// Fills the arrays of a channel from its statistics. `scale` and `shift` may be null.
struct NormSettings {
  NormArrays to;
  const float *scale, *shift;
  NormEps eps;
  ROBUSTA_GPU NormChannel of(int64_t c, double mean, double variance) const {
    const double inverse = eps.inverse(variance);
    return {static_cast<float>(mean), static_cast<float>(inverse),
            static_cast<float>(inverse * (scale ? scale[c] : 1.0f)), shift ? shift[c] : 0.0f};
  }
  ROBUSTA_GPU void set(int64_t c, const NormChannel& channel) const {
    to.mean[c] = channel.mean;
    to.inverse[c] = channel.inverse;
    to.factor[c] = channel.factor;
    to.shift[c] = channel.shift;
  }
  ROBUSTA_GPU void set(int64_t c, double mean, double variance) const { set(c, of(c, mean, variance)); }
};

/// The stored statistics, which the batch's are added to (kit/channel_norm.h).
struct NormStatistics {
  float *means, *variances, *batches;  ///< null: there are none, or no count
  double fraction, share, unbiased;
  ROBUSTA_GPU void add(int64_t c, double mean, double variance) const {
    if (!means) return;
    means[c] = static_cast<float>(means[c] * fraction + mean * share);
    variances[c] = static_cast<float>(variances[c] * fraction + variance * unbiased * share);
    if (c == 0 && batches) *batches = static_cast<float>(*batches * fraction + 1);
  }
};

/// From the stored statistics; without any, mean 0 and variance 1.
struct NormFromStored {
  NormSettings settings;
  NormStatistics stored;
  ROBUSTA_GPU void operator()(int64_t c) const {
    if (!stored.means) return settings.set(c, 0, 1);
    const double count = stored.batches ? static_cast<double>(*stored.batches) : 1, norm = count == 0 ? 0 : 1 / count;
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

/// From what the kernel that wrote x has summed of it (kit/result_sums.h). The difference of two means of squares that
/// are rounded may come out as anything about 0, also below it; what is less than their error is not believed, so that
/// a channel which hardly varies is never blown up.
struct NormFromSums {
  NormSettings settings;
  NormStatistics stored;
  const float* sums;
  int64_t channels;
  double share;     ///< 1 / elements of a channel
  double* moments;  ///< as NormMoments has it

  ROBUSTA_GPU double mean(int64_t c) const { return sums[c] * share; }
  ROBUSTA_GPU double variance(int64_t c) const {
    constexpr double kLeast = 1.0 / (1 << 20);
    const double mean = this->mean(c), squared = mean * mean, difference = sums[channels + c] * share - squared;
    return difference > kLeast * squared ? difference : kLeast * squared;
  }
  ROBUSTA_GPU void operator()(int64_t c) const {
    if (!moments) return finish(c, settings.of(c, mean(c), variance(c)));
    moments[c] = mean(c);
    moments[channels + c] = variance(c);
  }
  /// Mean, factor and shift (device/gpu/columns.h).
  ROBUSTA_GPU void find(int64_t c, bool first, float* to, int step) const {
    const NormChannel channel = settings.of(c, mean(c), variance(c));
    to[0] = channel.mean;
    to[step] = channel.factor;
    to[2 * step] = channel.shift;
    if (first) finish(c, channel);
  }

 private:
  ROBUSTA_GPU void finish(int64_t c, const NormChannel& channel) const {
    stored.add(c, mean(c), variance(c));
    settings.set(c, channel);
  }
};

/// Mean and variance of each channel, in one pass: E (x - o)^2 - (E (x - o))^2 is the variance for any origin o. With
/// the channel's first element for o the squares do not swamp it where the mean is large (Chan, Golub and LeVeque 1983,
/// "Algorithms for Computing the Sample Variance").
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
  ROBUSTA_GPU Pack<T, N> load(int64_t i) const {
    return stored_pack<N>(x + i);
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const Pack<T, N>& stored, const Pack<float, N>& first, ChannelTerms<2, N>& to) const {
    const Pack<float, N> values = as_floats(stored);
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

/// y = v, or what the ReLU leaves of it; with `other`, of v + other. `signs` has a byte for four elements, whose bits
/// say which of them are above 0 in y: an eighth of what backward would read of y in 16 bits. REQUIRES, where they are
/// kept: packs. With `kNormsOther`, `other` is normalised on the way, and rounded as if it had been stored in between.
template <typename T, bool kKeepsSigns = false, bool kNormsOther = false>
struct NormEach {
  static constexpr int kWidth = kPackWidth<T>, kRowsUnderWay = kNormsOther ? 1 : kKeepsSigns ? 2 : 4;
  NormArrays norm;
  const T *x, *other;  ///< other: null for none
  T* y;
  uint8_t* signs;
  NormArrays other_norm = {};
  template <int N>
  struct Two {
    NormPack<N> norm, other;
  };
  template <int N>
  using Known = std::conditional_t<kNormsOther, Two<N>, NormPack<N>>;
  bool in_packs() const { return norm.in_packs() && other_norm.in_packs() && on_packs(x, other, y); }
  template <int N, bool kAcross>
  ROBUSTA_GPU Known<N> known(Channels<N, kAcross> channels) const {
    return beside(norm.of(channels), channels);
  }
  /// The same, with `own` for what the arrays of x would say.
  template <int N, bool kAcross>
  ROBUSTA_GPU Known<N> beside(const NormPack<N>& own, Channels<N, kAcross> channels) const {
    if constexpr (kNormsOther) {
      return {own, other_norm.of(channels)};
    } else {
      return own;
    }
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(x + i), other ? stored_pack<N>(other + i) : Pack<T, N>{}};
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const PackPair<T, N>& stored, const Known<N>& known) const {
    Pack<float, N> values = as_floats(stored.first);
    const Pack<float, N> others = added(as_floats(stored.second), known);
    const NormPack<N>& own = own_of(known);
    for (int k = 0; k < N; ++k) {
      float value = own.value(values.at[k], k);
      if (other) value += others.at[k];
      values.at[k] = value * own.gain(value);
    }
    store_pack(values, y + i);
    if constexpr (kKeepsSigns && N % kSignsPerByte == 0) store_signs(values, i);
  }

 private:
  template <int N>
  ROBUSTA_GPU static const NormPack<N>& own_of(const NormPack<N>& known) {
    return known;
  }
  template <int N>
  ROBUSTA_GPU static const NormPack<N>& own_of(const Two<N>& known) {
    return known.norm;
  }
  template <int N>
  ROBUSTA_GPU static Pack<float, N> added(const Pack<float, N>& others, const NormPack<N>&) {
    return others;
  }
  template <int N>
  ROBUSTA_GPU static Pack<float, N> added(Pack<float, N> others, const Two<N>& known) {
    for (int k = 0; k < N; ++k) {
      others.at[k] = static_cast<float>(static_cast<T>(known.other.value(others.at[k], k)));
    }
    return others;
  }
  template <int N>
  ROBUSTA_GPU void store_signs(const Pack<float, N>& values, int64_t i) const {
    for (int first = 0; first < N; first += kSignsPerByte) {
      int bits = 0;
      for (int k = 0; k < kSignsPerByte; ++k) {
        bits |= (static_cast<float>(static_cast<T>(values.at[first + k])) > 0 ? 1 : 0) << k;
      }
      signs[(i + first) / kSignsPerByte] = static_cast<uint8_t>(bits);
    }
  }
};

/// NormEach whose channels are finished on the way: by each block for itself, and written down by one.
template <typename Each>
struct NormEachFromSums {
  static constexpr int kWidth = Each::kWidth, kRowsUnderWay = Each::kRowsUnderWay, kFound = 3;
  Each each;
  NormFromSums from;
  bool in_packs() const { return each.in_packs(); }
  ROBUSTA_GPU void find(int64_t c, bool first, float* to, int step) const { from.find(c, first, to, step); }
  template <int N>
  ROBUSTA_GPU auto known(Channels<N, true> channels, const FoundChannels& found) const {
    const NormPack<N> own{found.of(0, channels), found.of(1, channels), found.of(2, channels), each.norm.slope};
    return each.beside(own, channels);
  }
  template <int N>
  ROBUSTA_GPU auto load(int64_t i) const {
    return each.template load<N>(i);
  }
  template <int N, typename Loaded, typename Known>
  ROBUSTA_GPU void run(int64_t i, const Loaded& loaded, const Known& known) const {
    each.template run<N>(i, loaded, known);
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
