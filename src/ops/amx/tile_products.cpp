// The eight tiles: four of sums, two of either factor, so that each tile that is loaded is multiplied twice.

#include "ops/amx/tile_products.h"

#include "base/half.h"
#include "device/cpu/processor.h"
#include "ops/amx/target.h"

namespace robusta::amx {

#if ROBUSTA_HAS_AMX

namespace {

template <int R, int C>
ROBUSTA_AMX void multiply_tiles(const PanelProduct& product) {
  finish_writes();
  const int64_t next = product.next_row * static_cast<int64_t>(sizeof(float));
  float *sums = product.sums, *lower = sums + kTile * product.next_row;
  if (product.add) {
    _tile_loadd(0, sums, next);
    if constexpr (C > 1) _tile_loadd(1, sums + kTile, next);
    if constexpr (R > 1) _tile_loadd(2, lower, next);
    if constexpr (R > 1 && C > 1) _tile_loadd(3, lower + kTile, next);
  } else {
    _tile_zero(0);
    if constexpr (C > 1) _tile_zero(1);
    if constexpr (R > 1) _tile_zero(2);
    if constexpr (R > 1 && C > 1) _tile_zero(3);
  }
  const uint32_t *rows = product.rows, *columns = product.columns;
  for (int64_t step = 0; step < product.steps; ++step, rows += kStepPairs, columns += product.next_step) {
    _tile_loadd(4, rows, kTileLine);
    _tile_loadd(6, columns, kTileLine);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (C > 1) {
      _tile_loadd(7, columns + product.next_tile, kTileLine);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (R > 1) {
      _tile_loadd(5, rows + kTile * kTile, kTileLine);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (C > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, next);
  if constexpr (C > 1) _tile_stored(1, sums + kTile, next);
  if constexpr (R > 1) _tile_stored(2, lower, next);
  if constexpr (R > 1 && C > 1) _tile_stored(3, lower + kTile, next);
}

void multiply_by_units(const PanelProduct& product, int row_tiles, int column_tiles) {
  if (row_tiles > 1) return column_tiles > 1 ? multiply_tiles<2, 2>(product) : multiply_tiles<2, 1>(product);
  column_tiles > 1 ? multiply_tiles<1, 2>(product) : multiply_tiles<1, 1>(product);
}

}  // namespace

#else

namespace {
void multiply_by_units(const PanelProduct&, int, int) {}
}  // namespace

#endif

namespace {

bool pretends = false;

float low(uint32_t pair) { return from_bf16(static_cast<uint16_t>(pair)); }
float high(uint32_t pair) { return from_bf16(static_cast<uint16_t>(pair >> 16)); }

float sum_in_order(const PanelProduct& product, int64_t row, int64_t column, float sum) {
  const uint32_t* line = product.rows + row / kTile * kTile * kTile + row % kTile * kTile;
  const uint32_t* pairs = product.columns + column / kTile * product.next_tile + column % kTile;
  for (int64_t step = 0; step < product.steps; ++step, line += kStepPairs, pairs += product.next_step) {
    for (int64_t pair = 0; pair < kTile; ++pair) {
      const uint32_t a = line[pair], b = pairs[pair * kTile];
      sum += low(a) * low(b) + high(a) * high(b);
    }
  }
  return sum;
}

}  // namespace

bool has_units() {
  static const bool has = ROBUSTA_HAS_AMX != 0 && has_instructions("avx512_bf16") && may_use_tiles();
  return has;
}

bool is_there() { return has_units() || pretends; }

PretendThereAreUnits::PretendThereAreUnits() { pretends = true; }
PretendThereAreUnits::~PretendThereAreUnits() { pretends = false; }

void multiply_panels(const PanelProduct& product, int row_tiles, int column_tiles) {
  if (has_units()) return multiply_by_units(product, row_tiles, column_tiles);
  for (int64_t row = 0; row < row_tiles * kTile; ++row) {
    for (int64_t column = 0; column < column_tiles * kTile; ++column) {
      float& to = product.sums[row * product.next_row + column];
      to = sum_in_order(product, row, column, product.add ? to : 0.0f);
    }
  }
}

}  // namespace robusta::amx
