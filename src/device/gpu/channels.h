/// Loops over arrays by channel. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/divisor.h"
#include "device/gpu/pack.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Elements stored as [outer, count, inner], where `count` runs over channels: plain, inner is a plane; channels last,
/// it is 1.
struct ChannelView {
  int64_t outer = 1, count = 1, inner = 1;  ///< [outer, count, inner], `count` channels; last: inner is 1
  int64_t elements() const { return outer * count * inner; }
};

/// The channels of N neighbouring elements: N from `first` on, or (along the plane of one channel) all `first`.
template <int N, bool kAcross>
struct Channels {
  int64_t first;
  /// What an array holds for each, `step` elements from one channel to the next. REQUIRES: across channels, the array
  /// is on packs and `step` is 1.
  template <typename T>
  ROBUSTA_GPU Pack<float, N> of(const T* array, int64_t step = 1) const {
    if constexpr (kAcross) {
      return load_pack<N>(array + first);
    } else {
      Pack<float, N> values;
      for (int k = 0; k < N; ++k) values.at[k] = static_cast<float>(array[first * step]);
      return values;
    }
  }
};

/// Packs lie within a pixel or within a plane, else there are none.
enum class PackShape { kNone, kAcrossChannels, kAlongPlane };

template <typename Body>
PackShape pack_shape(const ChannelView& view, const Body& body) {
  if (!body.in_packs()) return PackShape::kNone;
  if (view.inner == 1) return view.count % Body::kWidth == 0 ? PackShape::kAcrossChannels : PackShape::kNone;
  return view.inner % Body::kWidth == 0 ? PackShape::kAlongPlane : PackShape::kNone;
}

namespace detail {

/// Pixels that follow each other at a distance share what is known of their channels.
template <int N, typename Body>
struct PacksAcrossChannels {
  static constexpr int kPixels = 4;
  Body body;
  Divisor packs;  ///< of a pixel
  int64_t pixels, step, channels;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t pixel = i;
    const int64_t channel = packs.take_off(pixel) * N;
    const auto known = body.known(Channels<N, true>{channel});
    for (int k = 0; k < kPixels && pixel < pixels; ++k, pixel += step) {
      body.template run<N>(pixel * channels + channel, known);
    }
  }
};

template <int N, typename Body>
struct PackAlongPlane {
  Body body;
  Divisor inner, count;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t i = pack * N;
    const Channels<N, false> channel{count.remainder(inner.quotient(i))};
    body.template run<N>(i, body.known(channel));
  }
};

template <int N, typename Body>
void across_channels(Stream* stream, const ChannelView& view, const Body& body) {
  using Packs = PacksAcrossChannels<N, Body>;
  const int64_t packs = view.count / N, step = (view.outer + Packs::kPixels - 1) / Packs::kPixels;
  for_each(stream, packs * step, Packs{body, Divisor(packs), view.outer, step, view.count});
}

template <int N, typename Body>
void along_planes(Stream* stream, const ChannelView& view, const Body& body) {
  for_each(stream, view.elements() / N, PackAlongPlane<N, Body>{body, Divisor(view.inner), Divisor(view.count)});
}

}  // namespace detail

/// Runs a body over all elements, in any order. `Body` says, all but in_packs ROBUSTA_GPU:
///   static constexpr int kWidth                    elements of a pack
///   bool in_packs() const                          on_packs(...) of its arrays
///   known(Channels<N, kAcross>) const              what there is to know of these channels, loaded once; a template
///   template <int N> void run(int64_t i, const Known&) const      elements i ... i + N - 1; N is kWidth or 1
template <typename Body>
void for_each_by_channel(Stream* stream, const ChannelView& view, const Body& body) {
  if (view.elements() == 0) return;
  const PackShape shape = pack_shape(view, body);
  if (shape == PackShape::kAcrossChannels) return detail::across_channels<Body::kWidth>(stream, view, body);
  if (shape == PackShape::kAlongPlane) return detail::along_planes<Body::kWidth>(stream, view, body);
  detail::along_planes<1>(stream, view, body);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
