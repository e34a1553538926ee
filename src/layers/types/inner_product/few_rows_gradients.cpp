// A general product packs its factors first. Here each weight is read, or its gradient written, where it lies, some
// rows of the matrix and a piece of them at a time: so long that memory is read page by page, so short that what the
// batch has there stays in a cache. Threads share the inputs, or the outputs whose weights they write.

#include "layers/types/inner_product/few_rows_gradients.h"

#include <algorithm>
#include <cassert>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta {
namespace {

constexpr int64_t kReadPiece = 2048, kWritePiece = 1024;  // inputs: 8 or 4 KiB of a row
/// Outputs and vectors of inputs that are computed together: what is loaded of the one serves for all of the other.
constexpr int outputs_at_once(int lanes) { return lanes == 16 ? 8 : 4; }
constexpr int kVectors = 2;
/// A gradient of so many bytes is not in a cache any more when the update reads it. It is written past the caches,
/// which then need not read what it replaces.
constexpr int64_t kPastCaches = int64_t{32} << 20;

/// A piece of the inputs, for all rows of the batch.
struct Piece {
  int64_t rows, outputs, inputs;  ///< of the product
  int64_t first, count;           ///< inputs
};

/// body(vectors, input): the inputs of a piece from whole vectors on, the last ones one by one.
template <int L, typename Many, typename One>
inline __attribute__((always_inline)) void for_inputs(const Piece& piece, const Many& many, const One& one) {
  int64_t i = 0;
  for (; i + kVectors * L <= piece.count; i += kVectors * L) many(i);
  for (; i < piece.count; ++i) one(i);
}

/// dx[row][piece] (+)= the sum over O outputs of dy[row][output] * w[output][piece].
template <int L, int O>
inline __attribute__((always_inline)) void add_outputs(const Piece& piece, const float* dy, const float* w, bool add,
                                                       float* dx) {
  const auto many = [&](int64_t i) __attribute__((always_inline)) {
    Floats<L> weights[O][kVectors];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        weights[o][v] = floats_at<L>(w + o * piece.inputs + i + v * L);
        __builtin_prefetch(w + (o + O) * piece.inputs + i + v * L);
        keep_in_register(weights[o][v]);
      }
    }
    for (int64_t row = 0; row < piece.rows; ++row) {
      float* to = dx + row * piece.inputs + i;
      Floats<L> sum[kVectors] = {};
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (add) sum[v] = floats_at<L>(to + v * L);
      }
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o) {
        const float factor = dy[row * piece.outputs + o];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[v] += factor * weights[o][v];
      }
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) floats_at<L>(to + v * L) = sum[v];
    }
  };
  for_inputs<L>(
      piece, many, [&](int64_t i) __attribute__((always_inline)) {
        for (int64_t row = 0; row < piece.rows; ++row) {
          float& to = dx[row * piece.inputs + i];
          float sum = add ? to : 0.0f;
          for (int o = 0; o < O; ++o) sum += dy[row * piece.outputs + o] * w[o * piece.inputs + i];
          to = sum;
        }
      });
}

template <int L>
inline __attribute__((always_inline)) void data_piece(const Piece& piece, const float* dy, const float* w, float* dx) {
  constexpr int kOutputs = outputs_at_once(L);
  dx += piece.first;
  w += piece.first;
  int64_t o = 0;
  for (; o + kOutputs <= piece.outputs; o += kOutputs) {
    add_outputs<L, kOutputs>(piece, dy + o, w + o * piece.inputs, o > 0, dx);
  }
  for (; o < piece.outputs; ++o) add_outputs<L, 1>(piece, dy + o, w + o * piece.inputs, o > 0, dx);
}

enum class Write { kPlain, kAdd, kStream };

/// A vector to memory that is aligned for it, past the caches.
#if defined(__x86_64__)
#define ROBUSTA_STREAM(lanes, place) asm("vmovntps %1, %0" : "=m"(place) : "v"(lanes))
#else
#define ROBUSTA_STREAM(lanes, place) (place) = lanes
#endif

/// dw[output][piece] = (+=) the sum over rows of dy[row][output] * x[row][piece], for O outputs.
template <int L, int O, Write kWrite>
inline __attribute__((always_inline)) void write_outputs(const Piece& piece, const float* dy, const float* x,
                                                         float* dw) {
  const auto many = [&](int64_t i) __attribute__((always_inline)) {
    Floats<L> sum[O][kVectors] = {};
    for (int64_t row = 0; row < piece.rows; ++row) {
      Floats<L> value[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        value[v] = floats_at<L>(x + row * piece.inputs + i + v * L);
        keep_in_register(value[v]);
      }
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o) {
        const float factor = dy[row * piece.outputs + o];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[o][v] += factor * value[v];
      }
    }
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
      float* to = dw + o * piece.inputs + i;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kWrite == Write::kAdd) sum[o][v] += floats_at<L>(to + v * L);
        if constexpr (kWrite == Write::kStream) {
          ROBUSTA_STREAM(sum[o][v], *reinterpret_cast<Floats<L>*>(to + v * L));
        } else {
          floats_at<L>(to + v * L) = sum[o][v];
        }
      }
    }
  };
  for_inputs<L>(
      piece, many, [&](int64_t i) __attribute__((always_inline)) {
        for (int o = 0; o < O; ++o) {
          float& to = dw[o * piece.inputs + i];
          float sum = kWrite == Write::kAdd ? to : 0.0f;
          for (int64_t row = 0; row < piece.rows; ++row) sum += dy[row * piece.outputs + o] * x[row * piece.inputs + i];
          to = sum;
        }
      });
}

/// For the outputs `begin` to `end`.
template <int L, Write kWrite>
inline __attribute__((always_inline)) void weights_piece(const Piece& piece, int64_t begin, int64_t end,
                                                         const float* dy, const float* x, float* dw) {
  constexpr int kOutputs = outputs_at_once(L);
  x += piece.first;
  dw += piece.first;
  int64_t o = begin;
  for (; o + kOutputs <= end; o += kOutputs) {
    write_outputs<L, kOutputs, kWrite>(piece, dy + o, x, dw + o * piece.inputs);
  }
  for (; o < end; ++o) write_outputs<L, 1, kWrite>(piece, dy + o, x, dw + o * piece.inputs);
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
  constexpr int64_t kLine = 16;  // floats
  if (add) return Write::kAdd;
  const bool aligned = reinterpret_cast<uintptr_t>(c) % 64 == 0 && shape.n % kLine == 0;
  return aligned && shape.m * shape.n * int64_t{sizeof(float)} >= kPastCaches ? Write::kStream : Write::kPlain;
}

/// What was written past the caches can be seen by the threads that come next.
void finish_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

bool may_pay_for_few_gradients(int64_t rows, int64_t outputs, int64_t inputs) {
  constexpr int64_t kLeastWeights = int64_t{1} << 20;  // 4 MiB
  return vector_lanes() > 0 && rows <= kMostGradientRows && outputs * inputs >= kLeastWeights;
}

bool pays_for_few_gradients(int64_t rows) { return rows <= 16; }

void FewRowsData::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const {
  assert(shape.op_a == Op::kPlain && shape.op_b == Op::kPlain && !add);
  constexpr int64_t kUnit = 256;  // inputs that a thread has at least
  const DataPiece run = vector_lanes() == 16 ? data_16 : data_8;
  parallel_ranges((shape.n + kUnit - 1) / kUnit, 1, [=](int64_t begin, int64_t end) {
    const int64_t last = std::min(end * kUnit, shape.n);
    for (int64_t first = begin * kUnit; first < last; first += kReadPiece) {
      run({shape.m, shape.k, shape.n, first, std::min(kReadPiece, last - first)}, a, b, c);
    }
  });
}

void FewRowsWeights::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const {
  assert(shape.op_a == Op::kTransposed && shape.op_b == Op::kPlain);
  const WeightsPiece run = weights_function(way_to_write(shape, add, c));
  parallel_ranges(shape.m, outputs_at_once(16), [=](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < shape.n; first += kWritePiece) {
      run({shape.k, shape.m, shape.n, first, std::min(kWritePiece, shape.n - first)}, begin, end, a, b, c);
    }
    finish_streams();
  });
}

}  // namespace robusta
