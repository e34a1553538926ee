/// A matrix whose columns are channels, walked down by threads: what neighbouring columns share is loaded once, and
/// several rows are under way together. For files named *_gpu.cpp.
///
/// A body says, all ROBUSTA_GPU, in packs of N elements:
///   known(Channels<N, kAcross>) const       what there is to know of these columns; a template
///   template <int N> load(int64_t i) const  what it reads from elements i ... i + N - 1, as it is stored
///   static constexpr int kRowsUnderWay      optional: fewer, where a row of it takes many registers
///   static constexpr int kBlocksAtATime     optional: fewer, where even one row does
/// and what it does with both (channels.h, channel_sums.h). A body may have to find out something of a channel first,
/// from more than it would read for each thread; then each block does that once for each of its channels:
///   static constexpr int kFound                                    so many numbers
///   void find(int64_t channel, bool first, float* to, int step) const     into to[0], to[step] ...; `first`: in one
///                                                                  block alone, which may write it down
///   known(Channels<N, true>, const FoundChannels&) const           in the place of known above
/// Between a store and a load that may meet it the order is
/// fixed. So all loads of a group of rows come before its first store: without that a thread waits for memory once a
/// row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/gpu/pack.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

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

/// What a block has found of its channels, which lie side by side from `first` on.
struct FoundChannels {
  const float* numbers;  ///< [kFound, channels]
  int channels;
  int64_t first;
  template <int N>
  ROBUSTA_GPU Pack<float, N> of(int which, Channels<N, true> at) const {
    Pack<float, N> values;
    const float* const from = numbers + which * channels + (at.first - first);
    for (int k = 0; k < N; ++k) values.at[k] = from[k];
    return values;
  }
};

/// The widest pack across channels. Twice as many would need twice the registers for what is known of them, and leave
/// room for half the threads.
inline constexpr int kMostAcross = 4;

namespace detail {

inline constexpr int kColumnThreads = 256;     ///< of a block
inline constexpr int kColumnBlocks = 4;        ///< that a multiprocessor has registers for, at least
inline constexpr int kMostLanes = 32;          ///< packs side by side, of a block
inline constexpr int kEnoughBlocks = 4 * 132;  ///< all that an H100 runs at a time

template <typename Body>
inline constexpr bool kFindsChannels = requires {
  Body::kFound;
};

template <typename Body>
constexpr int rows_under_way() {
  if constexpr (requires { Body::kRowsUnderWay; }) return Body::kRowsUnderWay;
  return 4;
}

/// At 64 registers for a thread four blocks share a multiprocessor, at 80 three.
template <typename Body>
constexpr int blocks_at_a_time() {
  if constexpr (requires { Body::kBlocksAtATime; }) return Body::kBlocksAtATime;
  return kColumnBlocks;
}

/// How a matrix of `rows` x `packs` is cut: a block of threads takes `lanes` packs of some columns, side by side, in
/// the rows of one part. A thread has `least` to `most` rows: few where there would not be enough blocks.
struct ColumnCut {
  int64_t rows, packs, parts, rows_per_part;  ///< parts: how many blocks share the rows of a column
  int lanes = kMostLanes, rows_at_once;

  ColumnCut(int64_t rows, int64_t packs, int64_t least, int64_t most) : rows(rows), packs(packs) {
    // Fewer lanes where that leaves fewer idle.
    while (lanes > 4 && padded(lanes / 2) < padded(lanes)) lanes /= 2;
    while (lanes > packs && lanes > 1) lanes /= 2;
    rows_at_once = kColumnThreads / lanes;
    const int64_t enough = ceil_div(kEnoughBlocks, std::max<int64_t>(tiles(), 1));
    parts = std::max(ceil_div(rows, rows_at_once * most), std::min(ceil_div(rows, rows_at_once * least), enough));
    parts = std::max<int64_t>(parts, 1);
    rows_per_part = std::max<int64_t>(ceil_div(rows, parts), 1);
  }
  ROBUSTA_GPU int64_t tiles() const { return (packs + lanes - 1) / lanes; }
  int64_t blocks() const { return tiles() * parts; }

 private:
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
  int64_t padded(int by) const { return ceil_div(packs, by) * by; }
};

/// `each(i, loaded)` for the packs from `begin` on, `hop` elements apart, `count` of them. Returns where the next is.
template <int N, typename Body, typename Count, typename Each>
ROBUSTA_GPU int64_t for_packs(const Body& body, int64_t begin, int64_t hop, Count count, const Each& each) {
  using Loaded = decltype(body.template load<N>(begin));
  constexpr int kRows = rows_under_way<Body>();
  int64_t i = begin;
  for (; kRows > 1 && count >= kRows; count -= kRows, i += kRows * hop) {
    Loaded loaded[kRows];
    ROBUSTA_UNROLL_4 for (int row = 0; row < kRows; ++row) loaded[row] = body.template load<N>(i + row * hop);
    ROBUSTA_UNROLL_4 for (int row = 0; row < kRows; ++row) each(i + row * hop, loaded[row]);
  }
  for (; count > 0; --count, i += hop) each(i, body.template load<N>(i));
  return i;
}

/// How many of first, first + step, ... lie before `end`.
ROBUSTA_GPU inline int64_t steps_before(int64_t end, int64_t first, int64_t step) {
  return first < end ? (end - first + step - 1) / step : 0;
}

}  // namespace detail

#ifdef ROBUSTA_GPU_KERNELS

namespace detail {

/// The place of a thread in a ColumnCut. Neighbouring threads have neighbouring packs. What follows from block and
/// thread is found again where it is asked for: a loop over rows has no registers to keep it in meanwhile.
template <int N>
struct ColumnPlace {
  const ColumnCut& cut;
  uint32_t tile, part;
  __device__ explicit ColumnPlace(const ColumnCut& cut) : cut(cut) {
    const auto tiles = static_cast<uint32_t>(cut.tiles());  // a grid has less than 2^31 blocks
    part = blockIdx.x / tiles;
    tile = blockIdx.x - part * tiles;
  }
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ int64_t first_col() const { return int64_t{tile} * (cut.lanes * N); }
  __device__ int64_t col() const { return first_col() + thread() % cut.lanes * N; }
  __device__ int64_t cols() const { return cut.packs * N; }
  __device__ int64_t first_row() const { return part * cut.rows_per_part + thread() / cut.lanes; }
  /// Of this thread.
  __device__ int rows() const {
    if (col() >= cols()) return 0;
    const int64_t behind = (int64_t{part} + 1) * cut.rows_per_part;
    return static_cast<int>(steps_before(behind < cut.rows ? behind : cut.rows, first_row(), cut.rows_at_once));
  }
};

template <int N, typename Body, typename Known>
__device__ void run_down(const ColumnCut& cut, const ColumnPlace<N>& at, const Body& body, const Known& known) {
  for_packs<N>(body, at.first_row() * at.cols() + at.col(), cut.rows_at_once * at.cols(), at.rows(),
               [&](int64_t i, const auto& loaded) { body.template run<N>(i, loaded, known); });
}

template <int N, typename Body>
__global__ void __launch_bounds__(kColumnThreads, blocks_at_a_time<Body>())
    columns_kernel(const ColumnCut cut, const Body body) {
  const ColumnPlace<N> at(cut);
  const Channels<N, true> channels{at.col()};
  if constexpr (kFindsChannels<Body>) {
    __shared__ float found[Body::kFound * kMostLanes * N];
    const int thread = at.thread(), columns = cut.lanes * N;
    if (thread < columns && at.first_col() + thread < at.cols()) {
      body.find(at.first_col() + thread, at.part == 0, found + thread, columns);
    }
    __syncthreads();
    if (at.rows() > 0) run_down<N>(cut, at, body, body.known(channels, FoundChannels{found, columns, at.first_col()}));
  } else {
    if (at.rows() > 0) run_down<N>(cut, at, body, body.known(channels));
  }
}

}  // namespace detail

#endif

namespace detail {

#ifndef ROBUSTA_GPU_KERNELS

/// body.known() of a pack, as the one block knows it that there is.
template <int N, typename Body>
auto known_to_all(const Body& body, Channels<N, true> channels) {
  if constexpr (kFindsChannels<Body>) {
    float found[Body::kFound * N];
    for (int k = 0; k < N; ++k) body.find(channels.first + k, true, found + k, N);
    return body.known(channels, FoundChannels{found, N, channels.first});
  } else {
    return body.known(channels);
  }
}

#endif

/// Runs body.run<N>(i, loaded, known) over all packs.
template <int N, typename Body>
void for_columns(Stream* stream, int64_t rows, int64_t packs, const Body& body) {
#ifdef ROBUSTA_GPU_KERNELS
  constexpr int64_t kLeastRows = 4, kMostRows = 16;
  const ColumnCut cut(rows, packs, kLeastRows, kMostRows);
  launch(columns_kernel<N, Body>, cut.blocks(), kColumnThreads, stream, cut, body);
#else
  if (!detail::runs(stream, body, rows * packs * N)) return;
  for (int64_t pack = 0; pack < packs; ++pack) {
    const auto known = known_to_all(body, Channels<N, true>{pack * N});
    for_packs<N>(body, pack * N, packs * N, rows,
                 [&](int64_t i, const auto& loaded) { body.template run<N>(i, loaded, known); });
  }
#endif
}

}  // namespace detail

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
