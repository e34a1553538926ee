/// Products of matrices of bf16 by the matrix units of a Xeon (AMX; Intel, "Architecture Instruction Set Extensions
/// Programming Reference", chapter 3), with sums in f32.
///
/// C = A B, 32 rows by 32 columns at a time. Lines are the rows of A and the columns of B, terms what a sum runs over.
/// Either factor lies in panels of 32 lines (panels.h), from which a step of 32 terms is two tiles.
#pragma once

#include <cstdint>

#include "device/cpu/tiles.h"

namespace robusta::amx {

inline constexpr int64_t kTile = 16;                      ///< lines of a tile, and pairs of terms
inline constexpr int64_t kPanelLines = 32;                ///< two tiles
inline constexpr int kTileLine = 64;                      ///< bytes of a line of a tile
inline constexpr int64_t kStepTerms = 32;                 ///< in a tile
inline constexpr int64_t kStepPairs = 2 * kTile * kTile;  ///< pairs of terms in a step of a panel: 2 KiB

/// True where products are those of matrix units: the processor has them, and vectors that round to bf16, and the
/// system lets us use both. Elsewhere all of amx/ computes the same in plain loops, slowly, so that what is built on it
/// can be tested.
bool has_units();

/// True where these products are to be used: there are units, or a test pretends so.
bool is_there();

/// For tests: is_there() while it lives. Not for several threads.
class PretendThereAreUnits {
 public:
  PretendThereAreUnits();
  ~PretendThereAreUnits();
  PretendThereAreUnits(const PretendThereAreUnits&) = delete;
  PretendThereAreUnits& operator=(const PretendThereAreUnits&) = delete;
};

struct PanelProduct {
  int64_t steps;
  const uint32_t* rows;               ///< a panel of A: [step][tile][line][pair of terms]
  const uint32_t* columns;            ///< a panel of B: [step][tile][pair of terms][line]
  float* sums;                        ///< C [row, column]
  int64_t next_row;                   ///< floats from one row of C to the next
  bool add;                           ///< to what is there
  int64_t next_step = kStepPairs;     ///< pairs from one step of `columns` to the next
  int64_t next_tile = kTile * kTile;  ///< and from its first tile to its second
};

/// `row_tiles`, `column_tiles`: 1 or 2, how many of the panels' tiles hold lines; so many times 16 rows and columns are
/// written. Each sum runs over the terms in order. REQUIRES: TilesInUse.
void multiply_panels(const PanelProduct& product, int row_tiles, int column_tiles);

}  // namespace robusta::amx
