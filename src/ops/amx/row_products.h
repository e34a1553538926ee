/// Products of rows that lie in memory as they are, with columns in panels (panels.h): what a convolution is whose
/// pixels have their channels beside one another.
///
/// A tile reads its 16 lines from anywhere, as long as they are equally far apart. So the pixels that a tap of the
/// filters sees need no copy of their own: they are the same rows, some rows later.
#pragma once

#include <cstdint>

#include "ops/amx/tile_products.h"

namespace robusta::amx {

struct RowProduct {
  const uint16_t* rows;  ///< bf16: a row has steps * kStepTerms terms
  int64_t next_row;      ///< elements from one row to the next
  const int64_t* taps;   ///< where each tap's first row begins, in elements behind `rows`
  int64_t tap_count;
  int64_t steps;            ///< of each tap
  const uint32_t* columns;  ///< a panel: [tap][step][tile][pair of terms][line]
  float* sums;              ///< [row][kPanelLines]
};

/// sums[row, column], over all taps in order. `row_tiles`, `column_tiles`: 1 or 2, so many times 16 rows and columns
/// are read and written. REQUIRES: TilesInUse.
void multiply_rows(const RowProduct& product, int row_tiles, int column_tiles);

/// What rounded results of a panel's columns are added up to, in f32, and their squares: of the even columns and of the
/// odd ones, since two of them lie in a word of 32 bits.
struct ColumnSums {
  float even[kTile] = {}, odd[kTile] = {}, even_squares[kTile] = {}, odd_squares[kTile] = {};

  // GCC 12 with -fsanitize=undefined takes element 0 of an array that a condition chooses.
  void add(int64_t column, float result) {
    float& to = column % 2 == 0 ? even[column / 2] : odd[column / 2];
    float& square = column % 2 == 0 ? even_squares[column / 2] : odd_squares[column / 2];
    to += result, square += result * result;
  }
  float sum(int64_t column) const { return column % 2 == 0 ? even[column / 2] : odd[column / 2]; }
  float square(int64_t column) const { return column % 2 == 0 ? even_squares[column / 2] : odd_squares[column / 2]; }
};

/// What becomes of the sums of some rows: to[place] = relu(sums + bias + addend), rounded to bf16.
struct RowResults {
  const float* sums;            ///< [row][kPanelLines]
  const int64_t* places;        ///< of each row, counted in rows of `to`; -1: it is not wanted
  int64_t rows, columns;        ///< columns: kPanelLines at most
  const float* bias;            ///< of the columns; null: zeros
  const uint16_t* addend;       ///< lies as `to`, which it may be; null: zeros
  float slope;                  ///< what is not positive is multiplied by; 1: no ReLU
  uint16_t* to;                 ///< where the first column of row 0 goes
  int64_t next;                 ///< elements from one row of `to` to the next
  int64_t ahead;                ///< rows from here to those whose places are fetched meanwhile; there are as many more
  ColumnSums* added = nullptr;  ///< what is written is added here, too; null: nowhere
};
void round_rows(const RowResults& results);

}  // namespace robusta::amx
