/// Loops over tensors by channel, on the GPU: what Scale, Bias, BatchNorm and the bias of a convolution share. For
/// files named *_gpu.cpp.
#pragma once

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/gpu_elementwise.h"
#include "tensor/channels_last.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// The channel of a stored element.
struct ChannelOf {
  Divisor inner, count;
  ROBUSTA_GPU int64_t operator()(int64_t i) const { return count.remainder(inner.quotient(i)); }
};

/// Elements stored as [outer, count, inner], where `count` runs over channels: plain, inner is a plane; channels last,
/// it is 1.
struct ChannelView {
  int64_t outer = 1, count = 1, inner = 1;
  int64_t elements() const { return outer * count * inner; }
  ChannelOf channel_of() const { return {Divisor(inner), Divisor(count)}; }
};

/// Settles one layout for bottom 0 and top 0 and returns how their elements lie. `plain` is the view of plain arrays.
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
  ChannelOf channel;
  const T* x;
  const float *factor, *shift;
  T* y;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t c = channel(i);
    const float scaled = factor ? static_cast<float>(x[i]) * factor[c] : static_cast<float>(x[i]);
    y[i] = static_cast<T>(shift ? scaled + shift[c] : scaled);
  }
};

template <typename T>
void channel_affine(Stream* stream, const ChannelView& view, const T* x, const float* factor, const float* shift,
                    T* y) {
  for_each(stream, view.elements(), AffineByChannel<T>{view.channel_of(), x, factor, shift, y});
}

namespace detail {

/// Terms of pixels whose channels are neighbours, as a matrix with a column per channel.
template <typename Body>
struct ChannelColumns : Body {
  int64_t count;
  ROBUSTA_GPU typename Body::Sum term(int64_t pixel, int64_t channel) const {
    return Body::term(pixel * count + channel, channel);
  }
};

/// A row for each of `pieces` pieces of each run of `inner` elements; row (run * pieces + piece) * count + channel.
template <typename Body>
struct ChannelPieces : Body {
  using Sum = typename Body::Sum;
  Sum* partial;
  int64_t count, inner, pieces, length;
  ROBUSTA_GPU Sum term(int64_t row, int64_t col) const {
    const int64_t channel = row % count, piece = row / count % pieces, run = row / (count * pieces);
    const int64_t at = piece * length + col;
    return at < inner ? Body::term((run * count + channel) * inner + at, channel) : Body::zero();
  }
  ROBUSTA_GPU void store(int64_t row, Sum sum) const { partial[row] = sum; }
};

/// The sums of the pieces, a column per channel.
template <typename Body>
struct JoinedPieces : Body {
  const typename Body::Sum* partial;
  int64_t count;
  ROBUSTA_GPU typename Body::Sum term(int64_t row, int64_t channel) const { return partial[row * count + channel]; }
};

/// Long runs are cut where there are few of them: a row is summed by one block of threads.
inline int64_t pieces_of(const ChannelView& view) {
  constexpr int64_t kLength = 4096, kEnough = 1024;
  return view.outer * view.count < kEnough ? (view.inner + kLength - 1) / kLength : 1;
}

}  // namespace detail

/// Bytes of scratch that channel_sums wants.
template <typename Body>
size_t channel_sums_scratch(const ChannelView& view) {
  if (view.inner == 1) return reduce_columns_scratch<Body>(view.outer, view.count);
  const int64_t rows = view.outer * detail::pieces_of(view);
  return static_cast<size_t>(rows * view.count) * sizeof(typename Body::Sum) +
         reduce_columns_scratch<Body>(rows, view.count);
}

/// store(channel, join over the channel's elements of term(i, channel)), where i is the place of an element in memory;
/// for the rest `Body` is as in device/gpu/reduce.h.
template <typename Body>
void channel_sums(Stream* stream, const ChannelView& view, void* scratch, const Body& body) {
  if (view.inner == 1) {
    return reduce_columns(stream, view.outer, view.count, scratch, detail::ChannelColumns<Body>{body, view.count});
  }
  const int64_t pieces = detail::pieces_of(view), length = (view.inner + pieces - 1) / pieces;
  const int64_t rows = view.outer * pieces;
  auto* partial = static_cast<typename Body::Sum*>(scratch);
  reduce_rows(stream, rows * view.count, length,
              detail::ChannelPieces<Body>{body, partial, view.count, view.inner, pieces, length});
  reduce_columns(stream, rows, view.count, partial + rows * view.count,
                 detail::JoinedPieces<Body>{body, partial, view.count});
}

/// sums[c] = (add ? sums[c] : 0) + sum of a * b over channel c; b may be null, meaning 1.
template <typename T>
struct ChannelDot {
  using Sum = double;
  const T *a, *b;
  float* sums;
  bool add;
  ROBUSTA_GPU Sum zero() const { return 0; }
  ROBUSTA_GPU Sum term(int64_t i, int64_t) const {
    const double value = static_cast<float>(a[i]);
    return b ? value * static_cast<float>(b[i]) : value;
  }
  ROBUSTA_GPU Sum join(Sum x, Sum y) const { return x + y; }
  ROBUSTA_GPU void store(int64_t c, Sum sum) const { sums[c] = static_cast<float>(add ? sums[c] + sum : sum); }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
