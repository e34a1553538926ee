/// Sums (and maxima, and the like) over the rows of a matrix of terms, or over all terms of an array, on a stream. For
/// files named *_gpu.cpp.
///
/// The body says what is summed:
///   using Sum                             small and trivially copyable
///   Sum zero() const                      what joins with anything without changing it
///   Sum term(int64_t row, int64_t col) const
///   Sum join(Sum a, Sum b) const          associative but for rounding, commutative
///   void store(int64_t row, Sum) const
/// all ROBUSTA_GPU. Terms are joined in an order that depends on the extents alone: no atomics, the same bits each
/// time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/gpu/for_each.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

/// A row by one thread.
template <typename Body>
struct RowByThread {
  Body body;
  int64_t cols;
  ROBUSTA_GPU void operator()(int64_t row) const {
    typename Body::Sum sum = body.zero();
    for (int64_t col = 0; col < cols; ++col) sum = body.join(sum, body.term(row, col));
    body.store(row, sum);
  }
};

}  // namespace detail

#ifdef ROBUSTA_GPU_KERNELS

template <int kThreads, typename Body>
__global__ void reduce_rows_kernel(int64_t cols, const Body body) {
  using Sum = typename Body::Sum;
  alignas(Sum) __shared__ unsigned char memory[kThreads * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(memory);
  const int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  Sum sum = body.zero();
  for (int64_t col = thread; col < cols; col += kThreads) sum = body.join(sum, body.term(row, col));
  sums[thread] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] = body.join(sums[thread], sums[thread + half]);
  }
  if (thread == 0) body.store(row, sums[0]);
}

/// store(row, join over all columns of term(row, col)).
template <typename Body>
void reduce_rows(Stream* stream, int64_t rows, int64_t cols, const Body& body) {
  if (rows <= 0) return;
  if (cols <= 16) return for_each(stream, rows, detail::RowByThread<Body>{body, cols});
  if (cols <= 256) {
    launch(reduce_rows_kernel<64, Body>, rows, 64, stream, cols, body);
  } else {
    launch(reduce_rows_kernel<256, Body>, rows, 256, stream, cols, body);
  }
}

#else

template <typename Body>
void reduce_rows(Stream* stream, int64_t rows, int64_t cols, const Body& body) {
  for_each(stream, rows, detail::RowByThread<Body>{body, cols});
}

#endif

/// The same by a thread for each row: for many rows, whose neighbours are neighbours in memory.
template <typename Body>
void reduce_rows_by_threads(Stream* stream, int64_t rows, int64_t cols, const Body& body) {
  for_each(stream, rows, detail::RowByThread<Body>{body, cols});
}

namespace detail {

/// How `count` terms are cut into the rows of a matrix; the last row may be short.
struct AllParts {
  int64_t parts, length;
  explicit AllParts(int64_t count) {
    constexpr int64_t kLeast = 4096, kMost = 1024;
    parts = std::clamp<int64_t>((count + kLeast - 1) / kLeast, 1, kMost);
    length = (count + parts - 1) / parts;
  }
};

/// One part, into partial[part]; a single part is the result.
template <typename Body>
struct PartOfAll : Body {
  using Sum = typename Body::Sum;
  Sum* partial;
  int64_t count, length;
  ROBUSTA_GPU Sum term(int64_t part, int64_t col) const {
    const int64_t i = part * length + col;
    return i < count ? Body::term(i) : Body::zero();
  }
  ROBUSTA_GPU void store(int64_t part, Sum sum) const {
    if (partial) {
      partial[part] = sum;
    } else {
      Body::store(sum);
    }
  }
};

template <typename Body>
struct SumOfParts : Body {
  const typename Body::Sum* partial;
  ROBUSTA_GPU typename Body::Sum term(int64_t, int64_t part) const { return partial[part]; }
  ROBUSTA_GPU void store(int64_t, typename Body::Sum sum) const { Body::store(sum); }
};

}  // namespace detail

/// Bytes of scratch that reduce_all wants.
template <typename Body>
size_t reduce_all_scratch(int64_t count) {
  return static_cast<size_t>(detail::AllParts(count).parts) * sizeof(typename Body::Sum);
}

/// store(join over all i < count of term(i)). Here `Body` has `Sum term(int64_t i) const` and `void store(Sum) const`.
template <typename Body>
void reduce_all(Stream* stream, int64_t count, void* scratch, const Body& body) {
  const detail::AllParts cut(count);
  auto* partial = cut.parts > 1 ? static_cast<typename Body::Sum*>(scratch) : nullptr;
  reduce_rows(stream, cut.parts, cut.length, detail::PartOfAll<Body>{body, partial, count, cut.length});
  if (partial) reduce_rows(stream, 1, cut.parts, detail::SumOfParts<Body>{body, partial});
}

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
