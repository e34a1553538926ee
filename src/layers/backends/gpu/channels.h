/// Loops over tensors by channel, on the GPU: what Scale, Bias, BatchNorm and the bias of a convolution share. For
/// files named *_gpu.cpp.
#pragma once

#include "device/gpu/channel_sums.h"
#include "layers/backends/gpu/elementwise.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Books one layout for bottom 0 and top 0 and returns how their elements lie. `plain` is the view of plain arrays.
/// The producer's layout is taken where that view goes by the channels of axis 1, or has one channel only; else plain.
/// Other bottoms are plain.
inline ChannelView book_channel_view(const KernelRequest& request, const ChannelView& plain, Booking& booking) {
  const TensorDesc& bottom = request.bottoms[0];
  const bool last = is_channels_last(bottom.layout);
  const bool by_channel = last && plain.outer == bottom.shape[0] && plain.count == bottom.shape[1];
  const Layout layout = last && (by_channel || plain.count == 1) ? bottom.layout : nullptr;
  booking.bottom_layouts.assign(request.bottoms.size(), nullptr);
  booking.bottom_layouts[0] = layout;
  booking.top_layouts = {layout};
  return layout && by_channel ? ChannelView{plain.outer * plain.inner, plain.count, 1} : plain;
}

/// y = x * factor[channel] + shift[channel]; either array may be null, meaning 1 and 0. x may be y.
template <typename T>
struct AffineByChannel {
  static constexpr int kWidth = kPackWidth<T>;
  const T* x;
  const float *factor, *shift;
  T* y;
  bool in_packs() const { return on_packs(x, y) && on_packs(factor, shift); }
  template <int N>
  struct Known {
    Pack<float, N> factor, shift;
  };
  template <int N, bool kAcross>
  ROBUSTA_GPU Known<N> known(Channels<N, kAcross> channels) const {
    Known<N> known = {};
    if (factor) known.factor = channels.of(factor);
    if (shift) known.shift = channels.of(shift);
    return known;
  }
  template <int N>
  ROBUSTA_GPU Pack<T, N> load(int64_t i) const {
    return stored_pack<N>(x + i);
  }
  template <int N>
  ROBUSTA_GPU void run(int64_t i, const Pack<T, N>& stored, const Known<N>& known) const {
    Pack<float, N> values = as_floats(stored);
    for (int k = 0; k < N; ++k) {
      if (factor) values.at[k] *= known.factor.at[k];
      if (shift) values.at[k] += known.shift.at[k];
    }
    store_pack(values, y + i);
  }
};

template <typename T>
void channel_affine(Stream* stream, const ChannelView& view, const T* x, const float* factor, const float* shift,
                    T* y) {
  for_each_by_channel(stream, view, AffineByChannel<T>{x, factor, shift, y});
}

/// The sum of a channel into sums[channel], or, with `add`, onto what is there.
ROBUSTA_GPU inline void hand_over(double sum, bool add, float& to) { to = static_cast<float>(add ? to + sum : sum); }

/// sums[c] = (add ? sums[c] : 0) + sum of a * b over channel c; b may be null, meaning 1.
template <typename T>
struct ChannelDot {
  static constexpr int kSums = 1, kWidth = kPackWidth<T>;
  const T *a, *b;
  float* sums;
  bool adds;
  bool in_packs() const { return on_packs(a, b); }
  template <int N, bool kAcross>
  ROBUSTA_GPU bool known(Channels<N, kAcross>) const {
    return b != nullptr;
  }
  template <int N>
  ROBUSTA_GPU PackPair<T, N> load(int64_t i) const {
    return {stored_pack<N>(a + i), b ? stored_pack<N>(b + i) : Pack<T, N>{}};
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const PackPair<T, N>& stored, bool two, ChannelTerms<1, N>& to) const {
    Pack<float, N> terms = as_floats(stored.first);
    if (two) {
      const Pack<float, N> others = as_floats(stored.second);
      for (int k = 0; k < N; ++k) terms.at[k] *= others.at[k];
    }
    for (int k = 0; k < N; ++k) to.at[0][k] += terms.at[k];
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sum)[1]) const { hand_over(sum[0], adds, sums[c]); }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
