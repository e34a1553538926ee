// Four tiles of sums: each tile of either factor that is loaded is multiplied twice. Loads take half of the time of the
// products where they hit the first-level cache, and about as long from the second one.

#include "ops/amx/row_products.h"

#include "base/half.h"
#include "base/vector_types.h"
#include "ops/amx/target.h"

namespace robusta::amx {

#if ROBUSTA_HAS_AMX

namespace {

template <int R, int C>
ROBUSTA_AMX void multiply_row_tiles(const RowProduct& product) {
  finish_writes();
  const int64_t next = product.next_row * static_cast<int64_t>(sizeof(uint16_t));
  _tile_zero(0);
  if constexpr (C > 1) _tile_zero(1);
  if constexpr (R > 1) _tile_zero(2);
  if constexpr (R > 1 && C > 1) _tile_zero(3);
  const uint32_t* columns = product.columns;
  for (int64_t tap = 0; tap < product.tap_count; ++tap) {
    const uint16_t* rows = product.rows + product.taps[tap];
    const uint16_t* lower = rows + kTile * product.next_row;
    for (int64_t step = 0; step < product.steps; ++step) {
      _tile_loadd(4, rows, next);
      _tile_loadd(6, columns, kTileLine);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (C > 1) {
        _tile_loadd(7, columns + kTile * kTile, kTileLine);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (R > 1) {
        _tile_loadd(5, lower, next);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (C > 1) _tile_dpbf16ps(3, 5, 7);
      }
      rows += kStepTerms;
      lower += kStepTerms;
      columns += kStepPairs;
    }
  }
  float *sums = product.sums, *below = sums + kTile * kPanelLines;
  constexpr int64_t kNext = kPanelLines * sizeof(float);
  _tile_stored(0, sums, kNext);
  if constexpr (C > 1) _tile_stored(1, sums + kTile, kNext);
  if constexpr (R > 1) _tile_stored(2, below, kNext);
  if constexpr (R > 1 && C > 1) _tile_stored(3, below + kTile, kNext);
  finish_writes();
}

void multiply_rows_by_units(const RowProduct& product, int row_tiles, int column_tiles) {
  if (row_tiles > 1) return column_tiles > 1 ? multiply_row_tiles<2, 2>(product) : multiply_row_tiles<2, 1>(product);
  column_tiles > 1 ? multiply_row_tiles<1, 2>(product) : multiply_row_tiles<1, 1>(product);
}

/// Sixteen of 32 columns, as in round_rows. `addend`: null for zeros.
ROBUSTA_AMX_INLINE __m512 finished(__m512 sum, const uint16_t* addend, __mmask16 there, float slope) {
  if (addend) {
    const auto numbers = (VectorOf<16, uint16_t>::type)_mm256_maskz_loadu_epi16(there, addend);
    sum += (__m512)(__builtin_convertvector(numbers, VectorOf<16, uint32_t>::type) << 16);
  }
  return sum > 0 ? sum : sum * slope;
}

using Lanes = VectorOf<kTile, float>::type;
using Words = VectorOf<kTile, uint32_t>::type;

/// ColumnSums in registers.
struct AddedLanes {
  Lanes even, odd, even_squares, odd_squares;
};

ROBUSTA_AMX_INLINE AddedLanes load_sums(const ColumnSums& sums) {
  return {_mm512_loadu_ps(sums.even), _mm512_loadu_ps(sums.odd), _mm512_loadu_ps(sums.even_squares),
          _mm512_loadu_ps(sums.odd_squares)};
}

ROBUSTA_AMX_INLINE void store_sums(const AddedLanes& added, ColumnSums& sums) {
  _mm512_storeu_ps(sums.even, added.even);
  _mm512_storeu_ps(sums.odd, added.odd);
  _mm512_storeu_ps(sums.even_squares, added.even_squares);
  _mm512_storeu_ps(sums.odd_squares, added.odd_squares);
}

/// Each of a pair is a float but for a shift or a mask.
ROBUSTA_AMX_INLINE void add_pairs(const Words& pairs, AddedLanes& added) {
  const auto even = (Lanes)(pairs << 16), odd = (Lanes)(pairs & 0xffff0000u);
  added.even += even;
  added.odd += odd;
  added.even_squares += even * even;
  added.odd_squares += odd * odd;
}

/// kAddsUp: whether `added` is wanted.
template <bool kAddsUp>
ROBUSTA_AMX void round_rows_by_vectors(const RowResults& results) {
  AddedLanes added;
  if constexpr (kAddsUp) added = load_sums(*results.added);
  const auto mask = static_cast<__mmask32>((uint64_t{1} << results.columns) - 1);
  const auto low = static_cast<__mmask16>(mask), high = static_cast<__mmask16>(mask >> 16);
  __m512 first = _mm512_setzero_ps(), second = first;
  if (results.bias) {
    first = _mm512_maskz_loadu_ps(low, results.bias);
    second = _mm512_maskz_loadu_ps(high, results.bias + kTile);
  }
  const bool plain = !results.addend && results.slope == 1;
  for (int64_t row = 0; row < results.rows; ++row) {
    // A write waits for its line, which the processor begins to fetch when it has come to the write.
    __builtin_prefetch(results.to + results.places[row + results.ahead] * results.next, 1, 2);
    if (results.places[row] < 0) continue;
    const int64_t at = results.places[row] * results.next;
    const float* sums = results.sums + row * kPanelLines;
    __m512 a = _mm512_loadu_ps(sums) + first, b = _mm512_loadu_ps(sums + kTile) + second;
    if (!plain) {
      const uint16_t* addend = results.addend ? results.addend + at : nullptr;
      a = finished(a, addend, low, results.slope);
      b = finished(b, addend ? addend + kTile : nullptr, high, results.slope);
    }
    const auto rounded = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    _mm512_mask_storeu_epi16(results.to + at, mask, rounded);
    if constexpr (kAddsUp) add_pairs((Words)rounded, added);
  }
  if constexpr (kAddsUp) store_sums(added, *results.added);
}

}  // namespace

#else

namespace {
void multiply_rows_by_units(const RowProduct&, int, int) {}
template <bool>
void round_rows_by_vectors(const RowResults&) {}
}  // namespace

#endif

namespace {

float row_sum_in_order(const RowProduct& product, int64_t row, int64_t column) {
  float sum = 0;
  const uint32_t* pairs = product.columns + column / kTile * kTile * kTile + column % kTile;
  for (int64_t tap = 0; tap < product.tap_count; ++tap) {
    const uint16_t* terms = product.rows + product.taps[tap] + row * product.next_row;
    for (int64_t step = 0; step < product.steps; ++step, pairs += kStepPairs) {
      for (int64_t pair = 0; pair < kTile; ++pair, terms += 2) {
        const uint32_t both = pairs[pair * kTile];
        sum += from_bf16(terms[0]) * from_bf16(static_cast<uint16_t>(both)) +
               from_bf16(terms[1]) * from_bf16(static_cast<uint16_t>(both >> 16));
      }
    }
  }
  return sum;
}

}  // namespace

void multiply_rows(const RowProduct& product, int row_tiles, int column_tiles) {
  if (has_units()) return multiply_rows_by_units(product, row_tiles, column_tiles);
  for (int64_t row = 0; row < row_tiles * kTile; ++row) {
    for (int64_t column = 0; column < column_tiles * kTile; ++column) {
      product.sums[row * kPanelLines + column] = row_sum_in_order(product, row, column);
    }
  }
}

void round_rows(const RowResults& results) {
  if (has_units()) return results.added ? round_rows_by_vectors<true>(results) : round_rows_by_vectors<false>(results);
  for (int64_t row = 0; row < results.rows; ++row) {
    if (results.places[row] < 0) continue;
    const int64_t at = results.places[row] * results.next;
    for (int64_t column = 0; column < results.columns; ++column) {
      float sum = results.sums[row * kPanelLines + column] + (results.bias ? results.bias[column] : 0.0f);
      if (results.addend) sum += from_bf16(results.addend[at + column]);
      results.to[at + column] = to_bf16(sum > 0 ? sum : results.slope * sum);
      if (!results.added) continue;
      const float result = from_bf16(results.to[at + column]);
      results.added->add(column, result);
    }
  }
}

}  // namespace robusta::amx
