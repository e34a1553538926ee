/// Sums over each channel of an array: bias gradients, moments of a batch. For files named *_gpu.cpp.
///
/// `Body` says what is summed, beside `known` and `load` (columns.h):
///   static constexpr int kSums, kWidth     how many sums a channel has; elements of a pack
///   bool in_packs() const                  on_packs(...) of its arrays
///   void add(int64_t i, const Loaded&, const Known&, ChannelTerms<kSums, N>& sums) const      adds the terms of
///                                          elements i ... i + N - 1
///   void store(int64_t channel, const double (&sums)[kSums]) const
/// all but in_packs ROBUSTA_GPU. A thread adds in float, since GPUs are slow in double: at most 64 terms, then at most
/// 64 such sums. Everything above is done in double. The order depends on the extents alone: no atomics, the same bits
/// each time.
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

inline constexpr int kPlaneThreads = 256;  // of a block
inline constexpr int kTermsInFloat = 64;

/// How the columns of a sum are cut.
template <int N>
ColumnCut sum_cut(const ChannelView& view) {
  constexpr int64_t kLeastRows = 8, kMostRows = int64_t{kTermsInFloat} * kTermsInFloat;
  return {view.outer, view.count / N, kLeastRows, kMostRows};
}

/// How each of `outer` x `count` planes is cut into pieces of whole packs.
struct PlaneCut {
  int64_t outer, count, packs, pieces, packs_per_piece;
  PlaneCut(const ChannelView& view, int width) : outer(view.outer), count(view.count), packs(view.inner / width) {
    constexpr int64_t kMost = int64_t{kPlaneThreads} * kTermsInFloat, kFew = 1024, kManyPlanes = 1024;
    const int64_t length = outer * count < kManyPlanes ? kFew : kMost;
    pieces = std::max<int64_t>((packs + length - 1) / length, 1);
    packs_per_piece = (packs + pieces - 1) / pieces;
  }
  int64_t parts() const { return outer * pieces; }
};

/// Where a block's sums go: partial[channel][part][sum], or, where there is but one part, to their end.
template <typename Body>
struct PartialSums {
  Body body;
  double* partial;
  int64_t parts;
  ROBUSTA_GPU void store(int64_t part, int64_t channel, const double (&sums)[Body::kSums]) const {
    if (!partial) return body.store(channel, sums);
    for (int s = 0; s < Body::kSums; ++s) partial[(channel * parts + part) * Body::kSums + s] = sums[s];
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
  int64_t parts;
  ROBUSTA_GPU Sum zero() const { return {}; }
  ROBUSTA_GPU Sum term(int64_t channel, int64_t part) const {
    Sum sum;
    for (int s = 0; s < Body::kSums; ++s) sum.at[s] = partial[(channel * parts + part) * Body::kSums + s];
    return sum;
  }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const {
    for (int s = 0; s < Body::kSums; ++s) a.at[s] += b.at[s];
    return a;
  }
  ROBUSTA_GPU void store(int64_t channel, Sum sum) const { body.store(channel, sum.at); }
};

/// Hands over the sums of the `count` packs from `begin` on, `hop` elements apart, a few terms at a time; the lanes are
/// not joined.
template <int N, typename Body, typename Known, typename HandOver>
ROBUSTA_GPU void sum_packs(const Body& body, const Known& known, int64_t begin, int64_t hop, int count,
                           const HandOver& hand_over) {
  ROBUSTA_NO_UNROLL for (; count > 0; count -= kTermsInFloat, begin += kTermsInFloat * hop) {
    ChannelTerms<Body::kSums, N> sums;
    for_packs<N>(body, begin, hop, count < kTermsInFloat ? count : kTermsInFloat,
                 [&](int64_t i, const auto& loaded) { body.add(i, loaded, known, sums); });
    hand_over(sums);
  }
}

}  // namespace detail

#ifdef ROBUSTA_GPU_KERNELS

namespace detail {

/// The sum of one value per thread; of use in thread 0. Called by all threads of the block, which are a power of two.
__device__ inline double sum_over_block(double* shared, double value) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  shared[thread] = value;
  for (int half = static_cast<int>(blockDim.x) / 2; half >= 1; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] += shared[thread + half];
  }
  return shared[thread];
}

/// A block per tile of columns and part of the rows.
template <int N, typename Body>
__global__ void __launch_bounds__(kColumnThreads, kColumnBlocks)
    sum_columns_kernel(const ColumnCut cut, const PartialSums<Body> to) {
  __shared__ float shared[kColumnThreads * Body::kSums * N];  // of all threads: [first row][sum][column]
  const int thread = static_cast<int>(threadIdx.x), columns = cut.lanes * N;
  float* const own = shared + thread / cut.lanes * Body::kSums * columns + thread % cut.lanes * N;
  for (int s = 0; s < Body::kSums; ++s) {
    for (int k = 0; k < N; ++k) own[s * columns + k] = 0;
  }
  const ColumnPlace<N> at(cut);
  if (at.rows > 0) {
    sum_packs<N>(to.body, to.body.known(Channels<N, true>{at.col}), at.first_row * at.cols + at.col,
                 cut.rows_at_once * at.cols, at.rows, [&](const ChannelTerms<Body::kSums, N>& sums) {
                   for (int s = 0; s < Body::kSums; ++s) {
                     for (int k = 0; k < N; ++k) own[s * columns + k] += sums.at[s][k];
                   }
                 });
  }
  __syncthreads();
  if (thread >= columns || at.first_col + thread >= at.cols) return;
  double joined[Body::kSums] = {};
  for (int row = 0; row < cut.rows_at_once; ++row) {
    for (int s = 0; s < Body::kSums; ++s) joined[s] += shared[(row * Body::kSums + s) * columns + thread];
  }
  to.store(at.part, at.first_col + thread, joined);
}

/// A block per piece of a plane.
template <int N, typename Body>
__global__ void sum_planes_kernel(const PlaneCut cut, const PartialSums<Body> to) {
  __shared__ double shared[kPlaneThreads];
  const int64_t plane = blockIdx.x / cut.pieces, piece = blockIdx.x % cut.pieces;
  const int64_t channel = plane % cut.count, part = plane / cut.count * cut.pieces + piece;
  const int64_t begin = piece * cut.packs_per_piece;
  const int64_t end = begin + cut.packs_per_piece < cut.packs ? begin + cut.packs_per_piece : cut.packs;
  const int64_t first = begin + threadIdx.x;
  ChannelTerms<Body::kSums, N> sums;
  sum_packs<N>(to.body, to.body.known(Channels<N, false>{channel}), (plane * cut.packs + first) * N,
               blockDim.x * int64_t{N}, static_cast<int>(steps_before(end, first, blockDim.x)),
               [&](const auto& all) { sums = all; });
  double joined[Body::kSums];
  for (int s = 0; s < Body::kSums; ++s) {
    double own = 0;
    for (int k = 0; k < N; ++k) own += sums.at[s][k];
    joined[s] = sum_over_block(shared, own);
  }
  if (threadIdx.x == 0) to.store(part, channel, joined);
}

template <int N, typename Body>
void sum_columns(Stream* stream, const ColumnCut& cut, const PartialSums<Body>& to) {
  launch(sum_columns_kernel<N, Body>, cut.blocks(), kColumnThreads, stream, cut, to);
}

template <int N, typename Body>
void sum_planes(Stream* stream, const PlaneCut& cut, const PartialSums<Body>& to) {
  // A thread has at most kTermsInFloat packs; few threads where a piece is short.
  const int threads = cut.packs_per_piece <= 256 ? 64 : kPlaneThreads;
  launch(sum_planes_kernel<N, Body>, cut.outer * cut.count * cut.pieces, threads, stream, cut, to);
}

}  // namespace detail

#else

namespace detail {

template <int N, typename Body>
void sum_columns(Stream*, const ColumnCut& cut, const PartialSums<Body>& to) {
  const int64_t cols = cut.packs * N;
  for (int64_t part = 0; part < cut.parts; ++part) {
    const int64_t begin = part * cut.rows_per_part, end = std::min(begin + cut.rows_per_part, cut.rows);
    for (int64_t col = 0; col < cols; col += N) {
      double joined[N][Body::kSums] = {};
      for (int64_t row = begin; row < std::min(begin + cut.rows_at_once, end); ++row) {
        sum_packs<N>(to.body, to.body.known(Channels<N, true>{col}), row * cols + col, cut.rows_at_once * cols,
                     static_cast<int>(steps_before(end, row, cut.rows_at_once)),
                     [&](const ChannelTerms<Body::kSums, N>& sums) {
                       for (int k = 0; k < N; ++k) {
                         for (int s = 0; s < Body::kSums; ++s) joined[k][s] += sums.at[s][k];
                       }
                     });
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
      sum_packs<N>(to.body, to.body.known(Channels<N, false>{channel}), (plane * cut.packs + begin) * N, N,
                   static_cast<int>(end - begin), [&](const ChannelTerms<Body::kSums, N>& sums) {
                     for (int s = 0; s < Body::kSums; ++s) {
                       for (int k = 0; k < N; ++k) joined[s] += sums.at[s][k];
                     }
                   });
      to.store(part, channel, joined);
    }
  }
}

}  // namespace detail

#endif

namespace detail {

template <int N, typename Body>
void sum_by_columns(Stream* stream, const ChannelView& view, double* scratch, const Body& body) {
  const ColumnCut cut = sum_cut<N>(view);
  sum_columns<N>(stream, cut, PartialSums<Body>{body, cut.parts > 1 ? scratch : nullptr, cut.parts});
  if (cut.parts > 1) reduce_rows(stream, view.count, cut.parts, JoinParts<Body>{body, scratch, cut.parts});
}

template <int N, typename Body>
void sum_by_planes(Stream* stream, const ChannelView& view, double* scratch, const Body& body) {
  const PlaneCut cut(view, N);
  const int64_t parts = cut.parts();
  sum_planes<N>(stream, cut, PartialSums<Body>{body, parts > 1 ? scratch : nullptr, parts});
  if (parts > 1) reduce_rows(stream, view.count, parts, JoinParts<Body>{body, scratch, parts});
}

/// Channels that lie side by side; so do all, where there is no element.
inline bool in_columns(const ChannelView& view) { return view.inner == 1 || view.elements() == 0; }

}  // namespace detail

/// Bytes of scratch that channel_sums wants.
template <typename Body>
size_t channel_sums_scratch(const ChannelView& view) {
  const int64_t parts = detail::in_columns(view)
                            ? std::max(detail::sum_cut<kAcrossWidth<Body>>(view).parts, detail::sum_cut<1>(view).parts)
                            : std::max(detail::PlaneCut(view, Body::kWidth).parts(), detail::PlaneCut(view, 1).parts());
  return static_cast<size_t>(parts * view.count) * Body::kSums * sizeof(double);
}

/// body.store(channel, sums) for every channel.
template <typename Body>
void channel_sums(Stream* stream, const ChannelView& view, void* scratch, const Body& body) {
  auto* partial = static_cast<double*>(scratch);
  const PackShape shape = view.elements() == 0 ? PackShape::kNone : pack_shape(view, body);
  if (detail::in_columns(view)) {
    if (shape == PackShape::kNone) return detail::sum_by_columns<1>(stream, view, partial, body);
    return detail::sum_by_columns<kAcrossWidth<Body>>(stream, view, partial, body);
  }
  if (shape == PackShape::kNone) return detail::sum_by_planes<1>(stream, view, partial, body);
  detail::sum_by_planes<Body::kWidth>(stream, view, partial, body);
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
