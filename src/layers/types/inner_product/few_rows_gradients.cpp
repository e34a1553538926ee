// A general product packs its factors first. Here each weight is read, or its gradient written, where it lies, some
// rows of the matrix and a piece of them at a time: so long that memory is read page by page, so short that what the
// batch has there stays in a cache. Threads share the inputs, or the outputs whose weights they write.

#include "layers/types/inner_product/few_rows_gradients.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/stored_lanes.h"
#include "base/streaming_stores.h"

namespace robusta {
namespace {

/// Inputs of a piece, and what the batch has there, copied side by side: rows of x and dx are often so far apart that
/// all meet in the same sets of a cache.
constexpr int64_t kLocal = int64_t{1} << 14, kLongestPiece = 2048, kUnit = 64;
int64_t piece_of(int64_t rows) { return std::min(kLocal / rows / kUnit * kUnit, kLongestPiece); }

/// Outputs and vectors of inputs that are computed together: what is loaded of the one serves for all of the other.
constexpr int outputs_at_once(int lanes) { return lanes == 16 ? 8 : 4; }
constexpr int kVectors = 2;

/// A piece of the inputs, for all rows of the batch.
struct Piece {
  int64_t rows, outputs, inputs;  ///< of the product
  int64_t first, count;           ///< inputs

  /// From one row of the batch to the next, in a copy: vectors of any kind are whole there.
  int64_t local_row() const { return (count + kUnit - 1) / kUnit * kUnit; }
};

/// to[row][O] = the gradients of O outputs.
template <int O>
inline __attribute__((always_inline)) void gather_outputs(const Piece& piece, const float* dy, float* to) {
  for (int64_t row = 0; row < piece.rows; ++row) {
    for (int o = 0; o < O; ++o) to[row * O + o] = dy[row * piece.outputs + o];
  }
}

/// body(input, how many there are): for as many as are computed together, and for the rest.
template <int L, typename Body>
inline __attribute__((always_inline)) void for_inputs(const Piece& piece, const Body& body) {
  constexpr int64_t kTogether = kVectors * L;
  int64_t i = 0;
  for (; i + kTogether <= piece.count; i += kTogether) body(i, kTogether);
  if (i < piece.count) body(i, piece.count - i);
}

/// sums[row][piece] += the sum over O outputs of dy[row][output] * w[output][piece].
template <int L, int O>
inline __attribute__((always_inline)) void add_outputs(const Piece& piece, const float* dy, const float* w,
                                                       float* sums) {
  float factors[kMostGradientRows * O];
  gather_outputs<O>(piece, dy, factors);
  for_inputs<L>(
      piece, [&](int64_t i, int64_t there) __attribute__((always_inline)) {
        Floats<L> weights[O][kVectors];
#pragma GCC unroll 8
        for (int o = 0; o < O; ++o) {
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            load_some<L>(w + o * piece.inputs + i + v * L, there - v * L, weights[o][v]);
            __builtin_prefetch(w + (o + O) * piece.inputs + i + v * L);
            ROBUSTA_KEEP_IN_REGISTER(weights[o][v]);
          }
        }
        for (int64_t row = 0; row < piece.rows; ++row) {
          float* to = sums + row * piece.local_row() + i;
          Floats<L> sum[kVectors];
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sum[v] = floats_at<L>(to + v * L);
#pragma GCC unroll 8
          for (int o = 0; o < O; ++o) {
            const float factor = factors[row * O + o];
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v) sum[v] += factor * weights[o][v];
          }
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) floats_at<L>(to + v * L) = sum[v];
        }
      });
}

template <int L>
inline __attribute__((always_inline)) void data_piece(const Piece& piece, const float* dy, const float* w, float* dx) {
  constexpr int kOutputs = outputs_at_once(L);
  alignas(64) float sums[kLocal];
  std::fill_n(sums, piece.rows * piece.local_row(), 0.0f);
  w += piece.first;
  int64_t o = 0;
  for (; o + kOutputs <= piece.outputs; o += kOutputs) {
    add_outputs<L, kOutputs>(piece, dy + o, w + o * piece.inputs, sums);
  }
  for (; o < piece.outputs; ++o) add_outputs<L, 1>(piece, dy + o, w + o * piece.inputs, sums);
  for (int64_t row = 0; row < piece.rows; ++row) {
    std::copy_n(sums + row * piece.local_row(), piece.count, dx + row * piece.inputs + piece.first);
  }
}

enum class Write { kPlain, kAdd, kStream };

/// dw[output][piece] = (+=) the sum over rows of dy[row][output] * x[row][piece], for O outputs. `x`: those of the
/// piece.
template <int L, int O, Write kWrite>
inline __attribute__((always_inline)) void write_outputs(const Piece& piece, const float* dy, const float* x,
                                                         float* dw) {
  float factors[kMostGradientRows * O];
  gather_outputs<O>(piece, dy, factors);
  for_inputs<L>(
      piece, [&](int64_t i, int64_t there) __attribute__((always_inline)) {
        Floats<L> sum[O][kVectors] = {};
        for (int64_t row = 0; row < piece.rows; ++row) {
          Floats<L> value[kVectors];
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            value[v] = floats_at<L>(x + row * piece.local_row() + i + v * L);
            ROBUSTA_KEEP_IN_REGISTER(value[v]);
          }
#pragma GCC unroll 8
          for (int o = 0; o < O; ++o) {
            const float factor = factors[row * O + o];
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v) sum[o][v] += factor * value[v];
          }
        }
#pragma GCC unroll 8
        for (int o = 0; o < O; ++o) {
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            float* to = dw + o * piece.inputs + i + v * L;
            if constexpr (kWrite == Write::kAdd) {
              Floats<L> before;
              load_some<L>(to, there - v * L, before);
              sum[o][v] += before;
            }
            if (kWrite == Write::kStream && there >= (v + 1) * L) {
              ROBUSTA_STREAM(sum[o][v], *reinterpret_cast<Floats<L>*>(to));
            } else {
              store_some<L>(sum[o][v], there - v * L, to);
            }
          }
        }
      });
}

/// For the outputs `begin` to `end`.
template <int L, Write kWrite>
inline __attribute__((always_inline)) void weights_piece(const Piece& piece, int64_t begin, int64_t end,
                                                         const float* dy, const float* x, float* dw) {
  constexpr int kOutputs = outputs_at_once(L);
  alignas(64) float local[kLocal];
  std::fill_n(local, piece.rows * piece.local_row(), 0.0f);
  for (int64_t row = 0; row < piece.rows; ++row) {
    std::copy_n(x + row * piece.inputs + piece.first, piece.count, local + row * piece.local_row());
  }
  dw += piece.first;
  int64_t o = begin;
  for (; o + kOutputs <= end; o += kOutputs) {
    write_outputs<L, kOutputs, kWrite>(piece, dy + o, local, dw + o * piece.inputs);
  }
  for (; o < end; ++o) write_outputs<L, 1, kWrite>(piece, dy + o, local, dw + o * piece.inputs);
}

using DataPiece = void (*)(const Piece&, const float*, const float*, float*);
using WeightsPiece = void (*)(const Piece&, int64_t, int64_t, const float*, const float*, float*);

ROBUSTA_LANES_16 void data_16(const Piece& piece, const float* dy, const float* w, float* dx) {
  data_piece<16>(piece, dy, w, dx);
}
ROBUSTA_LANES_8 void data_8(const Piece& piece, const float* dy, const float* w, float* dx) {
  data_piece<8>(piece, dy, w, dx);
}
template <Write kWrite>
ROBUSTA_LANES_16 void weights_16(const Piece& piece, int64_t begin, int64_t end, const float* dy, const float* x,
                                 float* dw) {
  weights_piece<16, kWrite>(piece, begin, end, dy, x, dw);
}
template <Write kWrite>
ROBUSTA_LANES_8 void weights_8(const Piece& piece, int64_t begin, int64_t end, const float* dy, const float* x,
                               float* dw) {
  weights_piece<8, kWrite>(piece, begin, end, dy, x, dw);
}

WeightsPiece weights_function(Write write) {
  const bool wide = vector_lanes() == 16;
  if (write == Write::kAdd) return wide ? weights_16<Write::kAdd> : weights_8<Write::kAdd>;
  if (write == Write::kStream) return wide ? weights_16<Write::kStream> : weights_8<Write::kStream>;
  return wide ? weights_16<Write::kPlain> : weights_8<Write::kPlain>;
}

Write way_to_write(const ProductShape& shape, bool add, const float* c) {
  if (add) return Write::kAdd;
  return goes_past_caches(c, shape.m, shape.n) ? Write::kStream : Write::kPlain;
}

}  // namespace

bool may_pay_for_few_gradients(int64_t rows, int64_t outputs, int64_t inputs) {
  constexpr int64_t kLeastWeights = int64_t{1} << 20;  // 4 MiB
  return vector_lanes() > 0 && rows <= kMostGradientRows && outputs * inputs >= kLeastWeights;
}

bool pays_for_few_gradients(int64_t rows) {
  // Measured beside oneDNN's product (a Xeon with AVX-512, 2 threads), dx and dW of 4096 outputs, in ms: 8 rows of
  // 25088 inputs 14.6 for 33.1 and 9.4 for 17; 16 rows of 9216 7.1 for 13.6 and 4.9 for 5.8; 32 rows 9.8 for 16 and 8
  // for 8.
  return rows <= 16;
}

void FewRowsData::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const {
  assert(shape.op_a == Op::kPlain && shape.op_b == Op::kPlain && !add);
  assert(shape.m > 0 && shape.m <= kMostGradientRows);
  constexpr int64_t kLeast = 256;  // inputs that a thread has at least
  const DataPiece fill = vector_lanes() == 16 ? data_16 : data_8;
  const int64_t piece = piece_of(shape.m);
  parallel_ranges((shape.n + kLeast - 1) / kLeast, 1, [=](int64_t begin, int64_t end) {
    const int64_t last = std::min(end * kLeast, shape.n);
    for (int64_t first = begin * kLeast; first < last; first += piece) {
      fill({shape.m, shape.k, shape.n, first, std::min(piece, last - first)}, a, b, c);
    }
  });
}

void FewRowsWeights::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const {
  assert(shape.op_a == Op::kTransposed && shape.op_b == Op::kPlain);
  assert(shape.k > 0 && shape.k <= kMostGradientRows);
  const WeightsPiece write = weights_function(way_to_write(shape, add, c));
  const int64_t piece = piece_of(shape.k);
  parallel_ranges(shape.m, outputs_at_once(16), [=](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < shape.n; first += piece) {
      write({shape.k, shape.m, shape.n, first, std::min(piece, shape.n - first)}, begin, end, a, b, c);
    }
    finish_streams();
  });
}

}  // namespace robusta
