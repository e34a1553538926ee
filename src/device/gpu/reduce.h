/// Sums (and maxima, and the like) over rows or columns of a matrix of terms, or over all terms of an array, on a
/// stream. For files named *_gpu.cpp.
///
/// The body says what is summed:
///   using Sum                             small and trivially copyable
///   Sum zero() const                      what joins with anything without changing it
///   Sum term(int64_t row, int64_t col) const
///   Sum join(Sum a, Sum b) const          associative but for rounding, commutative
///   void store(int64_t i, Sum) const      i: the row, or the column, of the result
/// all ROBUSTA_GPU. Terms are joined in an order that depends on the extents alone: no atomics, the same bits each
/// time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/gpu/for_each.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

/// A row, or a part of a column, by one thread.
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

/// Rows part * per_part ... of column col, into partial[part * cols + col].
template <typename Body>
struct ColumnPart {
  Body body;
  typename Body::Sum* partial;
  int64_t rows, cols, per_part;
  ROBUSTA_GPU void operator()(int64_t i) const {
    const int64_t part = i / cols, col = i % cols;
    const int64_t end = (part + 1) * per_part < rows ? (part + 1) * per_part : rows;
    typename Body::Sum sum = body.zero();
    for (int64_t row = part * per_part; row < end; ++row) sum = body.join(sum, body.term(row, col));
    partial[i] = sum;
  }
};

/// The parts of a column, as a row.
template <typename Body>
struct PartsOfColumn : Body {
  const typename Body::Sum* partial;
  int64_t cols;
  ROBUSTA_GPU typename Body::Sum term(int64_t col, int64_t part) const { return partial[part * cols + col]; }
};

/// Enough threads to fill a GPU, as long as each still has some rows.
inline int64_t column_parts(int64_t rows, int64_t cols) {
  constexpr int64_t kThreads = 1 << 17, kLeastRows = 8;
  const int64_t parts = std::min(kThreads / std::max<int64_t>(cols, 1), (rows + kLeastRows - 1) / kLeastRows);
  return std::max<int64_t>(parts, 1);
}

}  // namespace detail

#ifdef __CUDACC__

template <int kThreads, typename Body>
__global__ void reduce_rows_kernel(int64_t cols, const Body body) {
  using Sum = typename Body::Sum;
  __shared__ alignas(Sum) unsigned char memory[kThreads * sizeof(Sum)];
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
  const auto blocks = static_cast<unsigned>(rows);
  if (cols <= 256) {
    reduce_rows_kernel<64><<<blocks, 64, 0, cuda_stream(stream)>>>(cols, body);
  } else {
    reduce_rows_kernel<256><<<blocks, 256, 0, cuda_stream(stream)>>>(cols, body);
  }
  check_launch();
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

/// Bytes of scratch that reduce_columns wants.
template <typename Body>
size_t reduce_columns_scratch(int64_t rows, int64_t cols) {
  return static_cast<size_t>(detail::column_parts(rows, cols) * cols) * sizeof(typename Body::Sum);
}

/// store(col, join over all rows of term(row, col)), fastest where neighbouring columns are neighbours in memory.
template <typename Body>
void reduce_columns(Stream* stream, int64_t rows, int64_t cols, void* scratch, const Body& body) {
  const int64_t parts = detail::column_parts(rows, cols), per_part = (rows + parts - 1) / parts;
  auto* partial = static_cast<typename Body::Sum*>(scratch);
  for_each(stream, parts * cols, detail::ColumnPart<Body>{body, partial, rows, cols, per_part});
  reduce_rows(stream, cols, parts, detail::PartsOfColumn<Body>{body, partial, cols});
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
