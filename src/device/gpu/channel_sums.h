/// Sums over each channel of an array: bias gradients, moments of a batch. For files named *_gpu.cpp.
///
/// `Body` says what is summed, beside `known` and `load` (columns.h):
///   static constexpr int kSums, kWidth     how many sums a channel has; elements of a pack
///   bool in_packs() const                  on_packs(...) of its arrays
///   void add(int64_t i, const Loaded&, const Known&, ChannelTerms<kSums, N>& sums) const      adds the terms of
///                                          elements i ... i + N - 1
///   void store(int64_t channel, const double (&sums)[kSums]) const
/// all but in_packs ROBUSTA_GPU. A thread adds in float, since GPUs are slow in double: at most 64 terms, then at most
/// 64 such sums. Everything above is done in double. What blocks have is joined in the same launch, by those that come
/// last. The order depends on the extents alone: counters alone are atomic, and bits are the same each time.
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

/// Parts that are under way together while they are joined: with many sums each takes many registers.
template <typename Body>
inline constexpr int kJoinedAtOnce = Body::kSums > 4 ? 1 : 4;

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

/// The sums of `parts` blocks are joined in groups of neighbours, then the groups: as a tree of two floors, whatever
/// order the blocks end in.
struct JoinTree {
  int64_t parts, group, groups;
  explicit JoinTree(int64_t parts) : parts(parts), group(1) {
    constexpr int64_t kFew = 16;
    while (group * group < parts) ++group;
    if (parts <= kFew) group = parts;
    groups = (parts + group - 1) / group;
  }
  /// The sums of parts, then those of groups.
  int64_t slots() const { return parts > 1 ? parts + groups : 0; }
  ROBUSTA_GPU int64_t end_of(int64_t g) const { return (g + 1) * group < parts ? (g + 1) * group : parts; }
};

/// Where sums of blocks go: partial[tile][slot][sum][column], or, where there is but one part, to their end. A tile is
/// `columns` neighbouring channels, which the same blocks sum.
template <typename Body>
struct PartialSums {
  Body body;
  double* partial;
  JoinTree tree;
  int64_t columns, channels;
  bool in_packs() const { return body.in_packs(); }
  int64_t tiles() const { return (channels + columns - 1) / columns; }
  ROBUSTA_GPU double* place(int64_t channel, int64_t slot) const {
    const int64_t tile = channel / columns, column = channel % columns, slots = tree.parts + tree.groups;
    return partial + (tile * slots + slot) * Body::kSums * columns + column;
  }
  ROBUSTA_GPU void store(int64_t part, int64_t channel, const double (&sums)[Body::kSums]) const {
    if (tree.parts == 1) return body.store(channel, sums);
    for (int s = 0; s < Body::kSums; ++s) place(channel, part)[s * columns] = sums[s];
  }
  ROBUSTA_GPU void join(int64_t channel, int64_t begin, int64_t end, double (&sums)[Body::kSums]) const {
    const double* from = place(channel, begin);
    for (int s = 0; s < Body::kSums; ++s) sums[s] = 0;
    ROBUSTA_UNROLL_BY(kJoinedAtOnce<Body>)
    for (int64_t slot = begin; slot < end; ++slot, from += Body::kSums * columns) {
      for (int s = 0; s < Body::kSums; ++s) sums[s] += from[s * columns];
    }
  }
  /// From the parts of a group; where there is but one, that is all.
  ROBUSTA_GPU void join_group(int64_t channel, int64_t g) const {
    double sums[Body::kSums];
    join(channel, g * tree.group, tree.end_of(g), sums);
    if (tree.groups == 1) return body.store(channel, sums);
    for (int s = 0; s < Body::kSums; ++s) place(channel, tree.parts + g)[s * columns] = sums[s];
  }
  ROBUSTA_GPU void join_groups(int64_t channel) const {
    double sums[Body::kSums];
    join(channel, tree.parts, tree.parts + tree.groups, sums);
    body.store(channel, sums);
  }
};

/// The whole tree of a channel.
template <typename Body>
struct JoinChannel {
  PartialSums<Body> sums;
  ROBUSTA_GPU void operator()(int64_t channel) const {
    for (int64_t g = 0; g < sums.tree.groups; ++g) sums.join_group(channel, g);
    if (sums.tree.groups > 1) sums.join_groups(channel);
  }
};

/// Hands over the sums of the `count` packs from `begin` on, `hop` elements apart, a few terms at a time; the lanes are
/// not joined.
template <int N, typename Body, typename Known, typename HandOver>
ROBUSTA_GPU void sum_packs(const Body& body, const Known& known, int64_t begin, int64_t hop, int count,
                           const HandOver& hand_over) {
  ROBUSTA_NO_UNROLL for (; count > 0; count -= kTermsInFloat) {
    ChannelTerms<Body::kSums, N> sums;
    begin = for_packs<N>(body, begin, hop, count < kTermsInFloat ? count : kTermsInFloat,
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

/// True in all threads of the block that comes last of `count` that meet at this counter, which is then 0 again: it
/// sees what the threads of the others stored before ("threadFenceReduction" of NVIDIA's samples). Called by whole
/// blocks.
__device__ inline bool arrives_last(unsigned* counter, int64_t count) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1u) + 1 == static_cast<unsigned>(count);
    if (last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// Called by all blocks, when they have stored the sums of `part` for the channels of a tile: the last one of a group
/// joins that, the last of these the groups. `arrivals`: null where another launch will do it.
template <typename Body>
__device__ void join_if_last(const PartialSums<Body>& to, unsigned* arrivals, int64_t tile, int64_t part) {
  const JoinTree& tree = to.tree;
  if (!arrivals) return;
  const int64_t g = part / tree.group, channel = tile * to.columns + threadIdx.x;
  const bool own = threadIdx.x < to.columns && channel < to.channels;
  unsigned* const counters = arrivals + tile * (tree.groups + 1);
  if (!arrives_last(counters + g, tree.end_of(g) - g * tree.group)) return;
  if (own) to.join_group(channel, g);
  if (tree.groups == 1 || !arrives_last(counters + tree.groups, tree.groups)) return;
  if (own) to.join_groups(channel);
}

/// A block per tile of columns and part of the rows.
template <int N, typename Body>
__global__ void __launch_bounds__(kColumnThreads, blocks_at_a_time<Body>())
    sum_columns_kernel(const ColumnCut cut, const PartialSums<Body> to, unsigned* arrivals) {
  __shared__ float shared[kColumnThreads * Body::kSums * N];  // of all threads: [first row][sum][column]
  const int thread = static_cast<int>(threadIdx.x), columns = cut.lanes * N;
  float* const own = shared + thread / cut.lanes * Body::kSums * columns + thread % cut.lanes * N;
  for (int s = 0; s < Body::kSums; ++s) {
    for (int k = 0; k < N; ++k) own[s * columns + k] = 0;
  }
  const ColumnPlace<N> at(cut);
  if (const int rows = at.rows(); rows > 0) {
    sum_packs<N>(to.body, to.body.known(Channels<N, true>{at.col()}), at.first_row() * at.cols() + at.col(),
                 cut.rows_at_once * at.cols(), rows, [&](const ChannelTerms<Body::kSums, N>& sums) {
                   for (int s = 0; s < Body::kSums; ++s) {
                     for (int k = 0; k < N; ++k) own[s * columns + k] += sums.at[s][k];
                   }
                 });
  }
  __syncthreads();
  if (thread < columns && at.first_col() + thread < at.cols()) {
    double joined[Body::kSums] = {};
    ROBUSTA_UNROLL_BY(kJoinedAtOnce<Body>) for (int row = 0; row < cut.rows_at_once; ++row) {
      for (int s = 0; s < Body::kSums; ++s) joined[s] += shared[(row * Body::kSums + s) * columns + thread];
    }
    to.store(at.part, at.first_col() + thread, joined);
  }
  join_if_last(to, arrivals, at.tile, at.part);
}

/// A block per piece of a plane.
template <int N, typename Body>
__global__ void sum_planes_kernel(const PlaneCut cut, const PartialSums<Body> to, unsigned* arrivals) {
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
  join_if_last(to, arrivals, channel, part);
}

/// A counter for each group of each tile, and one for all groups; null where there is nothing to join, or too much.
template <typename Body>
unsigned* arrivals_for(Stream* stream, const PartialSums<Body>& to) {
  if (to.tree.parts == 1 || to.tiles() * (to.tree.groups + 1) > kArrivals) return nullptr;
  return arrivals(stream);
}

template <typename Body>
void join_what_is_left(Stream* stream, const PartialSums<Body>& to, const unsigned* arrivals) {
  if (to.tree.parts > 1 && !arrivals) for_each(stream, to.channels, JoinChannel<Body>{to});
}

template <int N, typename Body>
void sum_columns(Stream* stream, const ColumnCut& cut, const PartialSums<Body>& to) {
  unsigned* const counters = arrivals_for(stream, to);
  launch(sum_columns_kernel<N, Body>, cut.blocks(), kColumnThreads, stream, cut, to, counters);
  join_what_is_left(stream, to, counters);
}

template <int N, typename Body>
void sum_planes(Stream* stream, const PlaneCut& cut, const PartialSums<Body>& to) {
  // A thread has at most kTermsInFloat packs; few threads where a piece is short.
  const int threads = cut.packs_per_piece <= 256 ? 64 : kPlaneThreads;
  unsigned* const counters = arrivals_for(stream, to);
  launch(sum_planes_kernel<N, Body>, cut.outer * cut.count * cut.pieces, threads, stream, cut, to, counters);
  join_what_is_left(stream, to, counters);
}

}  // namespace detail

#else

namespace detail {

template <typename Body>
void join_all(const PartialSums<Body>& to) {
  if (to.tree.parts == 1) return;
  for (int64_t channel = 0; channel < to.channels; ++channel) JoinChannel<Body>{to}(channel);
}

template <int N, typename Body>
void sum_columns(Stream* stream, const ColumnCut& cut, const PartialSums<Body>& to) {
  if (!runs(stream, to, cut.rows * cut.packs * N)) return;
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
  join_all(to);
}

template <int N, typename Body>
void sum_planes(Stream* stream, const PlaneCut& cut, const PartialSums<Body>& to) {
  if (!runs(stream, to, cut.outer * cut.count * cut.packs * N)) return;
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
  join_all(to);
}

}  // namespace detail

#endif

namespace detail {

template <int N, typename Body>
void sum_by_columns(Stream* stream, const ChannelView& view, double* scratch, const Body& body) {
  const ColumnCut cut = sum_cut<N>(view);
  sum_columns<N>(stream, cut, PartialSums<Body>{body, scratch, JoinTree(cut.parts), cut.lanes * N, view.count});
}

template <int N, typename Body>
void sum_by_planes(Stream* stream, const ChannelView& view, double* scratch, const Body& body) {
  const PlaneCut cut(view, N);
  sum_planes<N>(stream, cut, PartialSums<Body>{body, scratch, JoinTree(cut.parts()), 1, view.count});
}

/// How many channels with their slots there is room for: whole tiles.
template <int N>
int64_t column_slots(const ChannelView& view) {
  const ColumnCut cut = sum_cut<N>(view);
  return JoinTree(cut.parts).slots() * cut.tiles() * cut.lanes * N;
}

template <int N>
int64_t plane_slots(const ChannelView& view) {
  return JoinTree(PlaneCut(view, N).parts()).slots() * view.count;
}

/// Channels that lie side by side; so do all, where there is no element.
inline bool in_columns(const ChannelView& view) { return view.inner == 1 || view.elements() == 0; }

}  // namespace detail

/// Bytes of scratch that channel_sums wants.
template <typename Body>
size_t channel_sums_scratch(const ChannelView& view) {
  const int64_t slots = detail::in_columns(view)
                            ? std::max(detail::column_slots<kAcrossWidth<Body>>(view), detail::column_slots<1>(view))
                            : std::max(detail::plane_slots<Body::kWidth>(view), detail::plane_slots<1>(view));
  return static_cast<size_t>(slots) * Body::kSums * sizeof(double);
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
