// y = x W^T for few rows: tiles of 4 rows by 4 outputs are summed in registers, and weights are prefetched in the order
// in which they come. They are not packed first, as general products do: each is used for too few rows to pay for it.

#include "layers/types/inner_product/few_rows.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta {
namespace {

constexpr int64_t kLanes = 16;    // floats of a register of AVX-512
constexpr int64_t kTile = 4;      // rows times outputs whose sums stay in registers: 4 x 4
constexpr int64_t kPiece = 1024;  // inputs at a time: four rows of weights then stay in the first-level cache
using Vector = Floats<kLanes>;

/// Adds `count` inputs (a multiple of kLanes) to the sums of R rows and O outputs, `sums` having kTile outputs per row.
template <int R, int O>
__attribute__((always_inline)) inline void add_tile(const float* x, const float* w, int64_t stride, int64_t count,
                                                    float* sums) {
  Vector sum[R][O];
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sum[r][o] = floats_at<kLanes>(sums + (r * kTile + o) * kLanes);
  }
  for (int64_t i = 0; i < count; i += kLanes) {
    Vector weights[O];
    for (int o = 0; o < O; ++o) weights[o] = floats_at<kLanes>(w + o * stride + i);
    for (int r = 0; r < R; ++r) {
      const Vector value = floats_at<kLanes>(x + r * stride + i);
      for (int o = 0; o < O; ++o) sum[r][o] += value * weights[o];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) floats_at<kLanes>(sums + (r * kTile + o) * kLanes) = sum[r][o];
  }
}

/// Asks for part `index` of `parts` of O pieces of weights, so that they come while others are multiplied.
template <int O>
__attribute__((always_inline)) inline void prefetch_part(const float* w, int64_t stride, int64_t index, int64_t parts) {
  constexpr int64_t kLines = kPiece / kLanes;
  for (int64_t line = kLines * index / parts; line < kLines * (index + 1) / parts; ++line) {
    for (int o = 0; o < O; ++o) __builtin_prefetch(w + o * stride + line * kLanes, 0, 2);
  }
}

/// All rows for O outputs.
template <int O>
ROBUSTA_SIMD void multiply_outputs(const float* x, const float* w, int64_t rows, int64_t outputs, int64_t inputs,
                                   float* y) {
  alignas(64) float sums[kFewRows * kTile * kLanes];
  for (int64_t i = 0; i < rows * kTile * kLanes; ++i) sums[i] = 0;
  const int64_t whole = inputs / kLanes * kLanes;
  for (int64_t at = 0; at < whole; at += kPiece) {
    const int64_t count = std::min(kPiece, whole - at);
    // After the last piece of these outputs comes the first one of the next.
    const float* next = at + kPiece < whole ? w + at + kPiece : w + O * inputs;
    int64_t row = 0;
    for (; row + kTile <= rows; row += kTile) {
      prefetch_part<O>(next, inputs, row / kTile, rows / kTile);
      add_tile<kTile, O>(x + row * inputs + at, w + at, inputs, count, sums + row * kTile * kLanes);
    }
    for (; row < rows; ++row) {
      add_tile<1, O>(x + row * inputs + at, w + at, inputs, count, sums + row * kTile * kLanes);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int o = 0; o < O; ++o) {
      float total = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) total += sums[(row * kTile + o) * kLanes + lane];
      for (int64_t i = whole; i < inputs; ++i) total += x[row * inputs + i] * w[o * inputs + i];
      y[row * outputs + o] = total;
    }
  }
}

}  // namespace

bool pays_for_few_rows(int64_t rows, int64_t inputs) {
  // 16 sums of 16 lanes want the 32 registers of AVX-512. Measured (Zen 5, one thread, against oneDNN's product):
  // 32 x 9216 x 4096 in 19 ms for 23, 8 x 25088 x 4096 in 27 for 41; but 64 x 800 x 500 in 0.33 for 0.24.
#if defined(__x86_64__)
  return rows <= kFewRows && inputs >= 2048 && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

void multiply_few_rows(const float* x, const float* w, int64_t rows, int64_t outputs, int64_t inputs, float* y) {
  assert(rows <= kFewRows);
  parallel_for((outputs + kTile - 1) / kTile, 1 + (1 << 16) / (rows * inputs), [=](int64_t tile) {
    const int64_t first = tile * kTile, count = std::min(kTile, outputs - first);
    if (count == kTile) return multiply_outputs<kTile>(x, w + first * inputs, rows, outputs, inputs, y + first);
    for (int64_t o = first; o < outputs; ++o) multiply_outputs<1>(x, w + o * inputs, rows, outputs, inputs, y + o);
  });
}

void FewRows::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const {
  assert(shape.op_a == Op::kPlain && shape.op_b == Op::kTransposed && !add);
  multiply_few_rows(a, b, shape.m, shape.n, shape.k, c);
}

}  // namespace robusta
