// The eight tiles: four of sums, two of either factor, so that each tile that is loaded is multiplied twice.

#include "ops/amx/tile_products.h"

#include "device/cpu/processor.h"
#include "ops/amx/target.h"

namespace robusta::amx {

#if ROBUSTA_HAS_AMX

namespace {

constexpr int kLine = 64;  // bytes of a line of a tile

/// GCC 12 does not know that a load of a tile reads memory, and may write later what comes before.
inline void finish_writes() { asm volatile("" ::: "memory"); }

template <int R, int C>
ROBUSTA_AMX void multiply(const PanelProduct& product) {
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
  for (int64_t step = 0; step < product.steps; ++step, rows += kStepPairs, columns += kStepPairs) {
    _tile_loadd(4, rows, kLine);
    _tile_loadd(6, columns, kLine);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (C > 1) {
      _tile_loadd(7, columns + kTile * kTile, kLine);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (R > 1) {
      _tile_loadd(5, rows + kTile * kTile, kLine);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (C > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, next);
  if constexpr (C > 1) _tile_stored(1, sums + kTile, next);
  if constexpr (R > 1) _tile_stored(2, lower, next);
  if constexpr (R > 1 && C > 1) _tile_stored(3, lower + kTile, next);
}

}  // namespace

bool is_there() {
  static const bool there = has_instructions("avx512_bf16") && may_use_tiles();
  return there;
}

void multiply_panels(const PanelProduct& product, int row_tiles, int column_tiles) {
  if (row_tiles > 1) return column_tiles > 1 ? multiply<2, 2>(product) : multiply<2, 1>(product);
  column_tiles > 1 ? multiply<1, 2>(product) : multiply<1, 1>(product);
}

#else

bool is_there() { return false; }
void multiply_panels(const PanelProduct&, int, int) {}

#endif

}  // namespace robusta::amx
