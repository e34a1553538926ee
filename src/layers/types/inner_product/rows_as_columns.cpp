// Tiles of outputs by columns are summed in registers (Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
// Multiplication", section 6), with the two factors' parts exchanged: W is what is not packed. Of x as many inputs are
// taken at a time as stay in the second-level cache while all outputs go by, and the next outputs' weights are fetched
// meanwhile.

#include "layers/types/inner_product/rows_as_columns.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"
#include "layers/kit/scratch_plan.h"
#include "ops/packed_product.h"

namespace robusta {
namespace rows_as_columns {
namespace {

constexpr int kMostSums = 12;        // vectors of sums: AVX2 has 16 registers, two or three of which hold other things
constexpr int64_t kPiece = 1024;     // inputs at a time
constexpr int64_t kChain = 256;      // of these as many are summed before they join the others: less is rounded away
constexpr int64_t kLine = 16;        // floats in a line of the cache
constexpr int64_t kGrain = 1 << 16;  // products for which a thread is woken

/// R outputs by a panel of V vectors of L columns, over `inputs` inputs.
struct Tile {
  int64_t inputs;
  const float* weights;  ///< [R, next_output]
  int64_t next_output;
  const float* panel;  ///< [inputs, V L]
  const float* ahead;  ///< the weights that are wanted next, as `weights`; null: they are here already
  float* sums;         ///< [R, columns]
  int64_t columns;
  bool add;
};

template <int L, int V, int R, bool kFetches>
ROBUSTA_SIMD void multiply_tile(const Tile& tile) {
  const int64_t next = tile.next_output;
  for (int64_t chain = 0; chain < tile.inputs; chain += kChain) {
    const int64_t chain_end = std::min(chain + kChain, tile.inputs);
    Floats<L> sum[R][V] = {};
    for (int64_t line = chain; line < chain_end; line += kLine) {
      if constexpr (kFetches) {
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) __builtin_prefetch(tile.ahead + r * next + line, 0, 2);
      }
      const int64_t end = std::min(line + kLine, chain_end);
      for (int64_t i = line; i < end; ++i) {
        Floats<L> x[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) x[v] = floats_at<L>(tile.panel + (i * V + v) * L);
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) {
          const float weight = tile.weights[r * next + i];
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) sum[r][v] += weight * x[v];
        }
      }
    }
    const bool add = tile.add || chain > 0;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        float* to = tile.sums + r * tile.columns + v * L;
        if (add) sum[r][v] += floats_at<L>(to);
        floats_at<L>(to) = sum[r][v];
      }
    }
  }
}

using Multiply = void (*)(const Tile&);

/// By the number of outputs, from 1 on.
template <int L, int V, bool kFetches, int... R>
constexpr std::array<Multiply, sizeof...(R)> by_outputs(std::integer_sequence<int, R...>) {
  return {multiply_tile<L, V, R + 1, kFetches>...};
}
template <int L, int V>
constexpr std::array kMultiply = {by_outputs<L, V, false>(std::make_integer_sequence<int, kMostSums / V>()),
                                  by_outputs<L, V, true>(std::make_integer_sequence<int, kMostSums / V>())};

/// How the rows become columns.
struct Columns {
  explicit Columns(int64_t rows)
      : lanes(rows <= 8 ? 8 : PackedShape::widest_lanes()),
        vectors(rows <= lanes ? 1 : 2),
        panels((rows + width() - 1) / width()) {}

  int64_t lanes, vectors, panels;
  int64_t width() const { return lanes * vectors; }
  int64_t count() const { return panels * width(); }
  int64_t tile() const { return kMostSums / vectors; }  ///< outputs that are computed together

  void multiply(const Tile& tile, int64_t outputs) const {
    const auto which = static_cast<size_t>(outputs - 1), fetches = static_cast<size_t>(tile.ahead != nullptr);
    if (lanes == 16) return (vectors == 2 ? kMultiply<16, 2>[fetches][which] : kMultiply<16, 1>[fetches][which])(tile);
    (vectors == 2 ? kMultiply<8, 2>[fetches][which] : kMultiply<8, 1>[fetches][which])(tile);
  }
};

/// x [rows, inputs] to [panel, input, column], with zeros for the columns that the last panel lacks.
void pack(const Columns& columns, int64_t rows, int64_t inputs, const float* x, float* packed) {
  const int64_t width = columns.width(), blocks = (inputs + kLine - 1) / kLine;
  parallel_for(blocks, 1 + kGrain / (kLine * columns.count()), [=, panels = columns.panels](int64_t block) {
    const int64_t begin = block * kLine, end = std::min(begin + kLine, inputs);
    for (int64_t p = 0; p < panels; ++p) {
      for (int64_t c = 0; c < width; ++c) {
        const int64_t row = p * width + c;
        for (int64_t i = begin; i < end; ++i) {
          packed[(p * inputs + i) * width + c] = row < rows ? x[row * inputs + i] : 0.0f;
        }
      }
    }
  });
}

/// The places in scratch memory of the packed x, and of y^T.
struct Memory {
  explicit Memory(const ProductShape& shape) {
    const int64_t columns = Columns(shape.m).count();
    packed = plan.add(static_cast<size_t>(columns * shape.k) * sizeof(float));
    sums = plan.add(static_cast<size_t>(columns * shape.n) * sizeof(float));
  }
  ScratchPlan plan;
  size_t packed, sums;
};

void multiply(const ProductShape& shape, const float* a, const float* b, float* c, void* scratch) {
  const int64_t rows = shape.m, outputs = shape.n, inputs = shape.k;
  const Columns columns(rows);
  const Memory memory(shape);
  float* packed = static_cast<float*>(at_offset(scratch, memory.packed));
  float* sums = static_cast<float*>(at_offset(scratch, memory.sums));
  pack(columns, rows, inputs, a, packed);
  const int64_t tile = columns.tile(), tiles = (outputs + tile - 1) / tile;
  parallel_ranges(tiles, 1 + kGrain / (1 + tile * columns.count() * inputs), [&](int64_t first, int64_t last) {
    for (int64_t piece = 0; piece < inputs; piece += kPiece) {
      const int64_t length = std::min(kPiece, inputs - piece);
      for (int64_t t = first; t < last; ++t) {
        const int64_t output = t * tile, count = std::min(tile, outputs - output);
        const float* weights = b + output * inputs + piece;
        const bool whole_next = t + 1 < last && output + 2 * tile <= outputs;
        for (int64_t p = 0; p < columns.panels; ++p) {
          columns.multiply({length, weights, inputs, packed + (p * inputs + piece) * columns.width(),
                            p == 0 && whole_next ? weights + tile * inputs : nullptr,
                            sums + output * columns.count() + p * columns.width(), columns.count(), piece > 0},
                           count);
        }
      }
    }
    const int64_t end = std::min(last * tile, outputs);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t o = first * tile; o < end; ++o) c[row * outputs + o] = sums[o * columns.count() + row];
    }
  });
}

}  // namespace
}  // namespace rows_as_columns

bool pays_for_columns(int64_t rows, int64_t inputs) {
  // Measured (Zen 3, 2 threads, by oneDNN's time): 8 x 25088 x 4096 0.58, 16 x 9216 x 4096 0.61, 32 x 9216 x 4096 0.73,
  // 64 x 4096 x 4096 0.86, 16 x 1024 x 1000 0.76; but 64 x 800 x 500 1.0, 4 x 9216 x 4096 1.24. Not on AVX-512.
  return rows >= 8 && rows <= 64 && inputs >= 1024 && PackedShape::widest_lanes() == 8;
}

size_t RowsAsColumns::scratch_bytes(const ProductShape& shape) const {
  return rows_as_columns::Memory(shape).plan.bytes();
}

void RowsAsColumns::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c,
                        void* scratch) const {
  assert(shape.op_a == Op::kPlain && shape.op_b == Op::kTransposed && shape.m <= kMostColumns && !add);
  rows_as_columns::multiply(shape, a, b, c, scratch);
}

}  // namespace robusta
