/// Sums over each channel of an array: bias gradients, moments of a batch. For files named *_gpu.cpp.
///
/// `Body` says what is summed:
///   static constexpr int kSums, kWidth     how many sums a channel has; elements of a pack
///   bool in_packs() const                  on_packs(...) of its arrays
///   known(Channels<N, kAcross>) const      what the terms of these channels need, loaded once; a template
///   void add(int64_t i, const Known&, ChannelTerms<kSums, N>& sums) const      adds the terms of elements i ... i+N-1
///   void store(int64_t channel, const double (&sums)[kSums]) const
/// all but in_packs ROBUSTA_GPU. A thread adds at most 64 terms in float, everything above is done in double: GPUs are
/// slow in double. The order depends on the extents alone: no atomics, the same bits each time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/gpu/channels.h"
#include "device/gpu/reduce.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// One thread's sums, for N channels or N lanes of one.
template <int kSums, int N>
struct ChannelTerms {
  float at[kSums][N] = {};
};

namespace detail {

inline constexpr int kSumThreads = 256;  // of a block
inline constexpr int kTermsInFloat = 64;
inline constexpr int kMostColumns = 64;  // of a block

/// How a matrix of `rows` x `packs` is cut: a block of threads takes `lanes` packs of some columns, side by side, in
/// the rows of one part.
struct ColumnCut {
  int64_t rows, packs, parts = 1, rows_per_part;  ///< parts: how many blocks share the rows of a column
  int lanes, rows_at_once;

  ColumnCut(int64_t rows, int64_t packs, int widest) : rows(rows), packs(packs), lanes(widest) {
    // Fewer lanes where that leaves fewer idle.
    while (lanes > 4 && padded(lanes / 2) < padded(lanes)) lanes /= 2;
    while (lanes > packs && lanes > 1) lanes /= 2;
    rows_at_once = kSumThreads / lanes;
    constexpr int64_t kEnoughBlocks = 1024, kLeastTerms = 4;
    const int64_t most = ceil_div(rows, rows_at_once * kLeastTerms);
    const int64_t least = ceil_div(rows, int64_t{rows_at_once} * kTermsInFloat);
    parts = std::max(least, std::min(most, ceil_div(kEnoughBlocks, std::max<int64_t>(tiles(), 1))));
    parts = std::max<int64_t>(parts, 1);
    rows_per_part = std::max<int64_t>(ceil_div(rows, parts), 1);
  }
  int64_t tiles() const { return ceil_div(packs, lanes); }
  int64_t blocks() const { return tiles() * parts; }

 private:
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
  int64_t padded(int by) const { return ceil_div(packs, by) * by; }
};

/// How each of `outer` x `count` planes is cut into pieces of whole packs.
struct PlaneCut {
  int64_t outer, count, packs, pieces, packs_per_piece;
  PlaneCut(const ChannelView& view, int width) : outer(view.outer), count(view.count), packs(view.inner / width) {
    constexpr int64_t kMost = int64_t{kSumThreads} * kTermsInFloat, kFew = 1024, kEnoughBlocks = 1024;
    const int64_t length = outer * count < kEnoughBlocks ? kFew : kMost;
    pieces = std::max<int64_t>((packs + length - 1) / length, 1);
    packs_per_piece = (packs + pieces - 1) / pieces;
  }
  int64_t parts() const { return outer * pieces; }
};

/// Where a block's sums go: partial[part][channel][sum], or, where there is but one part, to their end.
template <typename Body>
struct PartialSums {
  Body body;
  double* partial;
  int64_t count;
  ROBUSTA_GPU void store(int64_t part, int64_t channel, const double (&sums)[Body::kSums]) const {
    if (!partial) return body.store(channel, sums);
    for (int s = 0; s < Body::kSums; ++s) partial[(part * count + channel) * Body::kSums + s] = sums[s];
  }
};

/// The sums of all parts, a row per channel (reduce.h).
template <typename Body>
struct JoinParts {
  struct Sum {
    double at[Body::kSums];
  };
  Body body;
  const double* partial;
  int64_t count;
  ROBUSTA_GPU Sum zero() const { return {}; }
  ROBUSTA_GPU Sum term(int64_t channel, int64_t part) const {
    Sum sum;
    for (int s = 0; s < Body::kSums; ++s) sum.at[s] = partial[(part * count + channel) * Body::kSums + s];
    return sum;
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    for (int s = 0; s < Body::kSums; ++s) a.at[s] += b.at[s];
    return a;
  }
  ROBUSTA_GPU void store(int64_t channel, Sum sum) const { body.store(channel, sum.at); }
};

/// Rows first, first + step, ... before `end`, of the N columns from `col` on.
template <int N, typename Body>
ROBUSTA_GPU ChannelTerms<Body::kSums, N> sum_rows(const Body& body, int64_t first, int64_t end, int64_t step,
                                                  int64_t col, int64_t cols) {
  ChannelTerms<Body::kSums, N> sums;
  const auto known = body.known(Channels<N, true>{col});
  ROBUSTA_UNROLL_4 for (int64_t row = first; row < end; row += step) body.add(row * cols + col, known, sums);
  return sums;
}

/// Packs first, first + step, ... before `end` of a plane that begins at `begin`; the lanes are not joined.
template <int N, typename Body>
ROBUSTA_GPU ChannelTerms<Body::kSums, N> sum_plane(const Body& body, int64_t first, int64_t end, int64_t step,
                                                   int64_t begin, int64_t channel) {
  ChannelTerms<Body::kSums, N> sums;
  const auto known = body.known(Channels<N, false>{channel});
  ROBUSTA_UNROLL_4 for (int64_t pack = first; pack < end; pack += step) body.add(begin + pack * N, known, sums);
  return sums;
}

}  // namespace detail

#ifdef ROBUSTA_GPU_KERNELS

namespace detail {

/// The sum of one value per thread over those whose numbers differ by multiples of `step`; of use in threads below
/// `step`. Called by all threads of the block, which are a power of two times `step`.
__device__ inline double sum_over_block(double* shared, double value, int step) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  shared[thread] = value;
  for (int half = static_cast<int>(blockDim.x) / 2; half >= step; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] += shared[thread + half];
  }
  return shared[thread];
}

/// A block per tile of columns and part of the rows. Neighbouring threads have neighbouring packs.
template <int N, typename Body>
__global__ void sum_columns_kernel(const ColumnCut cut, const PartialSums<Body> to) {
  __shared__ double shared[kSumThreads], joined[Body::kSums][kMostColumns];
  const int thread = static_cast<int>(threadIdx.x), columns = cut.lanes * N;
  const int64_t tiles = gridDim.x / cut.parts, part = blockIdx.x / tiles;
  const int64_t first = blockIdx.x % tiles * columns, cols = cut.packs * N;
  const int64_t col = first + thread % cut.lanes * N;
  const int64_t begin = part * cut.rows_per_part;
  const int64_t end = begin + cut.rows_per_part < cut.rows ? begin + cut.rows_per_part : cut.rows;
  ChannelTerms<Body::kSums, N> sums;
  if (col < cols) sums = sum_rows<N>(to.body, begin + thread / cut.lanes, end, cut.rows_at_once, col, cols);
  for (int s = 0; s < Body::kSums; ++s) {
    for (int k = 0; k < N; ++k) {
      const double sum = sum_over_block(shared, sums.at[s][k], cut.lanes);
      if (thread < cut.lanes) joined[s][thread * N + k] = sum;
    }
  }
  __syncthreads();
  if (thread >= columns || first + thread >= cols) return;
  double own[Body::kSums];
  for (int s = 0; s < Body::kSums; ++s) own[s] = joined[s][thread];
  to.store(part, first + thread, own);
}

/// A block per piece of a plane.
template <int N, typename Body>
__global__ void sum_planes_kernel(const PlaneCut cut, const PartialSums<Body> to) {
  __shared__ double shared[kSumThreads];
  const int64_t plane = blockIdx.x / cut.pieces, piece = blockIdx.x % cut.pieces;
  const int64_t channel = plane % cut.count, part = plane / cut.count * cut.pieces + piece;
  const int64_t begin = piece * cut.packs_per_piece;
  const int64_t end = begin + cut.packs_per_piece < cut.packs ? begin + cut.packs_per_piece : cut.packs;
  const auto sums = sum_plane<N>(to.body, begin + threadIdx.x, end, blockDim.x, plane * cut.packs * N, channel);
  double joined[Body::kSums];
  for (int s = 0; s < Body::kSums; ++s) {
    double own = 0;
    for (int k = 0; k < N; ++k) own += sums.at[s][k];
    joined[s] = sum_over_block(shared, own, 1);
  }
  if (threadIdx.x == 0) to.store(part, channel, joined);
}

template <int N, typename Body>
void sum_columns(Stream* stream, const ColumnCut& cut, const PartialSums<Body>& to) {
  launch(sum_columns_kernel<N, Body>, cut.blocks(), kSumThreads, stream, cut, to);
}

template <int N, typename Body>
void sum_planes(Stream* stream, const PlaneCut& cut, const PartialSums<Body>& to) {
  // A thread has at most kTermsInFloat packs; few threads where a piece is short.
  const int threads = cut.packs_per_piece <= 256 ? 64 : kSumThreads;
  launch(sum_planes_kernel<N, Body>, cut.outer * cut.count * cut.pieces, threads, stream, cut, to);
}

}  // namespace detail

#else

namespace detail {

template <int N, typename Body>
void sum_columns(Stream*, const ColumnCut& cut, const PartialSums<Body>& to) {
  for (int64_t part = 0; part < cut.parts; ++part) {
    const int64_t begin = part * cut.rows_per_part, end = std::min(begin + cut.rows_per_part, cut.rows);
    for (int64_t col = 0; col < cut.packs * N; col += N) {
      double joined[N][Body::kSums] = {};
      for (int64_t row = begin; row < std::min(begin + cut.rows_at_once, end); ++row) {
        const auto sums = sum_rows<N>(to.body, row, end, cut.rows_at_once, col, cut.packs * N);
        for (int k = 0; k < N; ++k) {
          for (int s = 0; s < Body::kSums; ++s) joined[k][s] += sums.at[s][k];
        }
      }
      for (int k = 0; k < N; ++k) to.store(part, col + k, joined[k]);
    }
  }
}

template <int N, typename Body>
void sum_planes(Stream*, const PlaneCut& cut, const PartialSums<Body>& to) {
  for (int64_t plane = 0; plane < cut.outer * cut.count; ++plane) {
    for (int64_t piece = 0; piece < cut.pieces; ++piece) {
      const int64_t begin = piece * cut.packs_per_piece, end = std::min(begin + cut.packs_per_piece, cut.packs);
      const int64_t channel = plane % cut.count, part = plane / cut.count * cut.pieces + piece;
      double joined[Body::kSums] = {};
      for (int64_t pack = begin; pack < end; pack += kTermsInFloat) {
        const int64_t stop = std::min(pack + kTermsInFloat, end);
        const auto sums = sum_plane<N>(to.body, pack, stop, 1, plane * cut.packs * N, channel);
        for (int s = 0; s < Body::kSums; ++s) {
          for (int k = 0; k < N; ++k) joined[s] += sums.at[s][k];
        }
      }
      to.store(part, channel, joined);
    }
  }
}

}  // namespace detail

#endif

namespace detail {

template <int N, typename Body>
ColumnCut column_cut(const ChannelView& view) {
  return {view.outer, view.count / N, std::min(32, kMostColumns / std::max(N, 2))};
}

/// Channels that lie side by side; so do all, where there is no element.
inline bool in_columns(const ChannelView& view) { return view.inner == 1 || view.elements() == 0; }

template <int N, typename Body>
int64_t parts_of(const ChannelView& view) {
  return in_columns(view) ? column_cut<N, Body>(view).parts : PlaneCut(view, N).parts();
}

template <int N, typename Body>
void channel_sums(Stream* stream, const ChannelView& view, double* scratch, const Body& body) {
  const int64_t parts = parts_of<N, Body>(view);
  const PartialSums<Body> to{body, parts > 1 ? scratch : nullptr, view.count};
  if (in_columns(view)) {
    sum_columns<N>(stream, column_cut<N, Body>(view), to);
  } else {
    sum_planes<N>(stream, PlaneCut(view, N), to);
  }
  if (parts > 1) reduce_rows(stream, view.count, parts, JoinParts<Body>{body, scratch, view.count});
}

}  // namespace detail

/// Bytes of scratch that channel_sums wants.
template <typename Body>
size_t channel_sums_scratch(const ChannelView& view) {
  const int64_t parts = std::max(detail::parts_of<Body::kWidth, Body>(view), detail::parts_of<1, Body>(view));
  return static_cast<size_t>(parts * view.count) * Body::kSums * sizeof(double);
}

/// body.store(channel, sums) for every channel.
template <typename Body>
void channel_sums(Stream* stream, const ChannelView& view, void* scratch, const Body& body) {
  auto* partial = static_cast<double*>(scratch);
  if (view.elements() == 0 || pack_shape(view, body) == PackShape::kNone) {
    detail::channel_sums<1>(stream, view, partial, body);
  } else {
    detail::channel_sums<Body::kWidth>(stream, view, partial, body);
  }
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
