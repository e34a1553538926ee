/// Kernels of depthwise convolutions in packs of channels: results, gradient of the image, gradient of the filters
/// (depthwise_gpu.h). For files named *_gpu.cpp.
#pragma once

#include "device/gpu/channel_sums.h"
#include "device/gpu/divisor.h"
#include "ops/convolution_geometry.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

inline constexpr int kDepthwiseSide = 3, kDepthwiseTaps = 9;

/// Extents and window, counted in packs of N channels.
struct DepthwiseShape {
  int32_t in_h, in_w, out_h, out_w, pad_h, pad_w, packs;

  template <typename T>
  static DepthwiseShape of(const ConvolutionGeometry& g) {
    const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
    return {narrow(g.axes[0].in),
            narrow(g.axes[1].in),
            narrow(g.axes[0].out),
            narrow(g.axes[1].out),
            narrow(g.axes[0].pad),
            narrow(g.axes[1].pad),
            narrow(g.channels / kPackWidth<T>)};
  }
};

/// The filters of N neighbouring channels, which lie one behind the other. A tap is known when this is compiled, so
/// that all stay in registers.
template <typename T, int N>
struct DepthwiseFilters {
  Pack<T, N> at[kDepthwiseTaps];
  ROBUSTA_GPU DepthwiseFilters(const T* filters, int32_t lane) {
    for (int i = 0; i < kDepthwiseTaps; ++i) at[i] = stored_pack<N>(filters + (int64_t{lane} * kDepthwiseTaps + i) * N);
  }
  ROBUSTA_GPU float of(int channel, int tap) const {
    const int place = channel * kDepthwiseTaps + tap;
    return static_cast<float>(at[place / N].at[place % N]);
  }
};

/// `kStrip` neighbouring results. Mirrored: the gradient of the image of a convolution of stride 1, which is one of the
/// results' gradients with its filters turned around.
template <typename T, int kStride, bool kMirrored>
struct DepthwiseStrip {
  static constexpr int N = kPackWidth<T>, kStrip = kStride == 1 ? 4 : 2;
  static constexpr int kColumns = (kStrip - 1) * kStride + kDepthwiseSide;
  DepthwiseShape shape;
  Divisor by_pack, by_strip, by_row;
  const T *x, *filters, *bias, *addend;
  bool relu;
  T* y;

  ROBUSTA_GPU void operator()(int64_t i) const {
    auto image = static_cast<int32_t>(i);
    const int32_t lane = by_pack.take_off(image), column = by_strip.take_off(image) * kStrip;
    const int32_t row = by_row.take_off(image);
    const DepthwiseFilters<T, N> weights(filters, lane);
    Pack<float, N> sums[kStrip] = {};
    ROBUSTA_UNROLL_4 for (int v = 0; v < kDepthwiseSide; ++v) {  // so that filters are no array
      const int32_t line = row * kStride + v - shape.pad_h;
      if (line < 0 || line >= shape.in_h) continue;
      Pack<T, N> pixels[kColumns];
      load(image, line, column * kStride - shape.pad_w, lane, pixels);
      for (int s = 0; s < kStrip; ++s) {
        for (int h = 0; h < kDepthwiseSide; ++h) {
          const int tap = kMirrored ? kDepthwiseTaps - 1 - (v * kDepthwiseSide + h) : v * kDepthwiseSide + h;
          for (int k = 0; k < N; ++k) {
            sums[s].at[k] += static_cast<float>(pixels[s * kStride + h].at[k]) * weights.of(k, tap);
          }
        }
      }
    }
    for (int s = 0; s < kStrip; ++s) {
      if (column + s < shape.out_w) finish(sums[s], lane, place(image, row, column + s, lane));
    }
  }
  void touches(int64_t count, KernelArrays& to) const {
    const int64_t strips = (shape.out_w + kStrip - 1) / kStrip;
    const int64_t images = count / (int64_t{shape.packs} * strips * shape.out_h);
    const int64_t channels = int64_t{shape.packs} * N;
    to.add(x, images * shape.in_h * shape.in_w * channels);
    to.add(filters, channels * kDepthwiseTaps);
    to.add(bias, channels);
    to.add(addend, images * shape.out_h * shape.out_w * channels);
    to.add(y, images * shape.out_h * shape.out_w * channels);
  }

 private:
  /// Pixels beside the image are zeros.
  ROBUSTA_GPU void load(int32_t image, int32_t line, int32_t first, int32_t lane,
                        Pack<T, N> (&pixels)[kColumns]) const {
    const int64_t begin = (int64_t{image} * shape.in_h + line) * shape.in_w;
    for (int c = 0; c < kColumns; ++c) {
      const int32_t at = first + c;
      pixels[c] = Pack<T, N>{};
      if (at >= 0 && at < shape.in_w) pixels[c] = stored_pack<N>(x + ((begin + at) * shape.packs + lane) * N);
    }
  }
  ROBUSTA_GPU int64_t place(int32_t image, int32_t row, int32_t column, int32_t lane) const {
    return (((int64_t{image} * shape.out_h + row) * shape.out_w + column) * shape.packs + lane) * N;
  }
  ROBUSTA_GPU void finish(Pack<float, N> sum, int32_t lane, int64_t at) const {
    if (bias) {
      const Pack<float, N> biases = load_pack<N>(bias + int64_t{lane} * N);
      for (int k = 0; k < N; ++k) sum.at[k] += biases.at[k];
    }
    if (addend) {
      const Pack<float, N> others = load_pack<N>(addend + at);
      for (int k = 0; k < N; ++k) sum.at[k] += others.at[k];
    }
    for (int k = 0; k < N; ++k) sum.at[k] = relu && !(sum.at[k] > 0) ? 0.0f * sum.at[k] : sum.at[k];
    store_pack(sum, y + at);
  }
};

/// The gradient of a pixel of the image, of stride 2: of the results that see it, each by another tap.
template <typename T>
struct DepthwiseGather {
  static constexpr int N = kPackWidth<T>, kStride = 2;
  DepthwiseShape shape;
  Divisor by_pack, by_column, by_row;
  const T *dy, *filters;
  T* dx;

  ROBUSTA_GPU void operator()(int64_t i) const {
    auto image = static_cast<int32_t>(i);
    const int32_t lane = by_pack.take_off(image), column = by_column.take_off(image), row = by_row.take_off(image);
    const DepthwiseFilters<T, N> weights(filters, lane);
    Pack<float, N> sum = {};
    ROBUSTA_UNROLL_4 for (int v = 0; v < kDepthwiseSide; ++v) {
      const int32_t y = row + shape.pad_h - v;
      if (y < 0 || y % kStride != 0 || y / kStride >= shape.out_h) continue;
      for (int h = 0; h < kDepthwiseSide; ++h) {
        const int32_t x = column + shape.pad_w - h;
        if (x < 0 || x % kStride != 0 || x / kStride >= shape.out_w) continue;
        const int64_t at = (int64_t{image} * shape.out_h + y / kStride) * shape.out_w + x / kStride;
        const Pack<float, N> gradients = load_pack<N>(dy + (at * shape.packs + lane) * N);
        for (int k = 0; k < N; ++k) sum.at[k] += gradients.at[k] * weights.of(k, v * kDepthwiseSide + h);
      }
    }
    store_pack(sum, dx + i * N);
  }
  void touches(int64_t count, KernelArrays& to) const {
    const int64_t images = count / (int64_t{shape.packs} * shape.in_h * shape.in_w);
    to.add(dy, images * shape.out_h * shape.out_w * shape.packs * N);
    to.add(filters, int64_t{shape.packs} * N * kDepthwiseTaps);
    to.add(dx, count * N);
  }
};

/// The gradient of the filters: nine sums for each channel, over all results.
template <typename T>
struct DepthwiseFilterSums {
  // Sums of more channels would not fit into a thread's registers.
  static constexpr int kSums = kDepthwiseTaps, kWidth = 2, kRowsUnderWay = 1;
  static constexpr int kBlocksAtATime = sizeof(T) > 2 ? 3 : 4;
  static constexpr int kPack = kPackWidth<T>;  ///< channels are whole packs: pixels are counted in 32 bits
  DepthwiseShape shape;                        ///< whose packs are not asked
  int32_t stride, channels;
  Divisor by_pack, by_column, by_row;
  const T *x, *dy;
  T* filters;

  template <int N>
  struct Loaded {
    Pack<T, N> dy, pixels[kDepthwiseTaps];
  };

  bool in_packs() const { return on_packs(x, dy); }
  template <int N, bool kAcross>
  ROBUSTA_GPU bool known(Channels<N, kAcross>) const {
    return true;
  }
  template <int N>
  ROBUSTA_GPU Loaded<N> load(int64_t i) const {
    int32_t image = by_pack.quotient(static_cast<int32_t>(i / kPack));
    const auto channel = static_cast<int32_t>(i - int64_t{image} * channels);
    const int32_t column = by_column.take_off(image), row = by_row.take_off(image);
    const int32_t line = row * stride - shape.pad_h, at = column * stride - shape.pad_w;
    // Of the first tap, which may lie outside.
    const int64_t first = ((int64_t{image} * shape.in_h + line) * shape.in_w + at) * channels + channel;
    Loaded<N> loaded;
    loaded.dy = stored_pack<N>(dy + i);
    ROBUSTA_UNROLL for (int v = 0; v < kDepthwiseSide; ++v) {
      ROBUSTA_UNROLL for (int h = 0; h < kDepthwiseSide; ++h) {
        const bool inside = line + v >= 0 && line + v < shape.in_h && at + h >= 0 && at + h < shape.in_w;
        const int32_t pixel = (v * shape.in_w + h) * channels;
        loaded.pixels[v * kDepthwiseSide + h] = inside ? stored_pack<N>(x + (first + pixel)) : Pack<T, N>{};
      }
    }
    return loaded;
  }
  template <int N>
  ROBUSTA_GPU void add(int64_t, const Loaded<N>& loaded, bool, ChannelTerms<kSums, N>& to) const {
    ROBUSTA_UNROLL for (int tap = 0; tap < kDepthwiseTaps; ++tap) {
      ROBUSTA_UNROLL for (int k = 0; k < N; ++k) {
        to.at[tap][k] += static_cast<float>(loaded.dy.at[k]) * static_cast<float>(loaded.pixels[tap].at[k]);
      }
    }
  }
  ROBUSTA_GPU void store(int64_t c, const double (&sums)[kSums]) const {
    for (int tap = 0; tap < kDepthwiseTaps; ++tap)
      filters[c * kDepthwiseTaps + tap] = static_cast<T>(static_cast<float>(sums[tap]));
  }
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
