/// Normalising channels backward on the GPU: two sums of each channel; then all elements. For files named *_gpu.cpp.
///
/// With h = (x - mean) * inverse and g the gradient before the ReLU,
///
///   dx = factor * (g - sum(g) / m - h * sum(g h) / m),
///
/// since the batch's mean and variance depend on x, too (Ioffe and Szegedy 2015, "Batch Normalization", section 3).
#pragma once

#include "layers/backends/gpu/norm_arrays.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// dx = factor * (g - constant - (x - mean) * linear)
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
  static constexpr int kSums = 2, kWidth = kPackWidth<T>, kRowsUnderWay = sizeof(T) > 2 ? 2 : 4;
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
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>((x ? x : dy) + i), stored_pack<N>(dy + i)};
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const PackPair<T, N>& stored, const NormPack<N>& known, ChannelTerms<2, N>& to) const {
    add_terms(as_floats(stored.first), as_floats(stored.second), known, to);
  }
  template <int N>
  ROBUSTA_GPU void add_terms(const Pack<float, N>& values, const Pack<float, N>& slopes, const NormPack<N>& known,
                             ChannelTerms<2, N>& to) const {
    for (int k = 0; k < N; ++k) {
      if (!x) {
        to.at[0][k] += slopes.at[k];
        continue;
      }
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

/// The same where something was added before the ReLU, whose result was y: g = dy where y is positive, else slope * dy,
/// is also the gradient of that. It may take dy's place. REQUIRES: sums.norm.slope is 1. dy may come as two terms,
/// where two layers read y: what a Split would add is added here, and not rounded in between.
template <typename T>
struct JoinedGradientSums {
  static constexpr int kSums = 2, kWidth = kPackWidth<T>, kRowsUnderWay = sizeof(T) > 2 ? 1 : 2;
  NormGradientSums<T> sums;  ///< its dy is that of y
  const T* more;             ///< to be added to dy; null: nothing is
  const T* y;                ///< null: no ReLU, or there are
  const uint8_t* signs;      ///< those of y (NormEach)
  float slope;
  T* g;
  template <int N>
  struct Loaded {
    PackPair<T, N> pair;
    Pack<T, N> more;
    uint32_t above;  ///< a bit for each, where there is a ReLU
  };
  bool in_packs() const { return sums.in_packs() && on_packs(more, y, g); }
  template <int N, bool kAcross>
  ROBUSTA_GPU NormPack<N> known(Channels<N, kAcross> at) const {
    return sums.known(at);
  }
  template <int N>
  ROBUSTA_GPU Loaded<N> load(int64_t i) const {
    return {sums.template load<N>(i), more ? stored_pack<N>(more + i) : Pack<T, N>{}, load_above<N>(i)};
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t i, const Loaded<N>& stored, const NormPack<N>& known, ChannelTerms<2, N>& to) const {
    Pack<float, N> gradients = as_floats(stored.pair.second);
    if (more) {
      const Pack<float, N> terms = as_floats(stored.more);
      for (int k = 0; k < N; ++k) gradients.at[k] += terms.at[k];
    }
    if (y || signs) {
      for (int k = 0; k < N; ++k) gradients.at[k] *= stored.above >> k & 1 ? 1.0f : slope;
    }
    store_pack(gradients, g + i);
    sums.add_terms(as_floats(stored.pair.first), gradients, known, to);
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[2]) const { sums.store(c, sum); }

 private:
  template <int N>
  ROBUSTA_GPU uint32_t load_above(int64_t i) const {
    if (signs) {
      if constexpr (N < kSignsPerByte) return signs[i / kSignsPerByte] >> (i % kSignsPerByte);
      uint32_t bits = 0;
      for (int first = 0; first < N; first += kSignsPerByte) {
        bits |= static_cast<uint32_t>(signs[(i + first) / kSignsPerByte]) << first;
      }
      return bits;
    }
    uint32_t bits = 0;
    if (y) {
      const Pack<float, N> results = load_pack<N>(y + i);
      for (int k = 0; k < N; ++k) bits |= (results.at[k] > 0 ? 1u : 0u) << k;
    }
    return bits;
  }
};

/// x may be null when there is no ReLU either. dx may be dy.
template <typename T>
struct NormPropagate {
  static constexpr int kWidth = kPackWidth<T>, kRowsUnderWay = sizeof(T) > 2 ? 3 : 4;
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
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>((x ? x : dy) + i), stored_pack<N>(dy + i)};
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const PackPair<T, N>& stored, const Known<N>& known) const {
    const NormPack<N>& at = known.norm;
    Pack<float, N> g = as_floats(stored.second);
    if (x) {
      const Pack<float, N> values = as_floats(stored.first);
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
