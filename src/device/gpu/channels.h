/// Loops over arrays by channel. For files named *_gpu.cpp.
#pragma once

#include "device/gpu/columns.h"
#include "device/gpu/divisor.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Elements stored as [outer, count, inner], where `count` runs over channels: plain, inner is a plane; channels last,
/// it is 1.
struct ChannelView {
  int64_t outer = 1, count = 1, inner = 1;  ///< [outer, count, inner], `count` channels; last: inner is 1
  int64_t elements() const { return outer * count * inner; }
};

/// Packs lie within a pixel or within a plane, else there are none.
enum class PackShape { kNone, kAcrossChannels, kAlongPlane };

/// Elements of a pack across channels.
template <typename Body>
inline constexpr int kAcrossWidth = std::min(Body::kWidth, kMostAcross);

template <typename Body>
PackShape pack_shape(const ChannelView& view, const Body& body) {
  if (!body.in_packs()) return PackShape::kNone;
  if (view.inner == 1) return view.count % kAcrossWidth<Body> == 0 ? PackShape::kAcrossChannels : PackShape::kNone;
  return view.inner % Body::kWidth == 0 ? PackShape::kAlongPlane : PackShape::kNone;
}

namespace detail {

template <int N, typename Body>
struct PackAlongPlane {
  Body body;
  Divisor inner, count;
  ROBUSTA_GPU void operator()(int64_t pack) const {
    const int64_t i = pack * N;
    const Channels<N, false> channel{count.remainder(inner.quotient(i))};
    body.template run<N>(i, body.template load<N>(i), body.known(channel));
  }
};

template <int N, typename Body>
void along_planes(Stream* stream, const ChannelView& view, const Body& body) {
#ifdef ROBUSTA_COUNTS_CALLS
  if (!runs(stream, body, view.elements())) return;
  stream = nullptr;  // counted already
#endif
  for_each(stream, view.elements() / N, PackAlongPlane<N, Body>{body, Divisor(view.inner), Divisor(view.count)});
}

}  // namespace detail

/// Runs a body over all elements, in any order. `Body` says, all but in_packs ROBUSTA_GPU, beside `known` and `load`
/// (columns.h):
///   static constexpr int kWidth                    elements of a pack
///   bool in_packs() const                          on_packs(...) of its arrays
///   template <int N> void run(int64_t i, const Loaded&, const Known&) const      elements i ... i + N - 1
template <typename Body>
void for_each_by_channel(Stream* stream, const ChannelView& view, const Body& body) {
  constexpr int kAcross = kAcrossWidth<Body>;
  if (view.elements() == 0) return;
  switch (pack_shape(view, body)) {
    case PackShape::kAcrossChannels:
      return detail::for_columns<kAcross>(stream, view.outer, view.count / kAcross, body);
    case PackShape::kAlongPlane:
      return detail::along_planes<Body::kWidth>(stream, view, body);
    case PackShape::kNone:
      return detail::along_planes<1>(stream, view, body);
  }
}

/// The same for a body that finds out something of its channels first (columns.h). REQUIRES: packs across channels.
template <typename Body>
void for_each_by_found_channel(Stream* stream, const ChannelView& view, const Body& body) {
  constexpr int kAcross = kAcrossWidth<Body>;
  if (view.elements() > 0) detail::for_columns<kAcross>(stream, view.outer, view.count / kAcross, body);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
