/// Rows of a table that a list of indices picks, and the sums of what comes back for each: BatchReindex, Embed.
///
/// Indices are floats, as all that nets carry, cut towards zero as Caffe does. Sums are made in the order of the list:
/// the bits do not depend on threads.
#pragma once

#include <cstddef>
#include <string>

#include "base/str.h"
#include "layers/kit/labels.h"
#include "robusta/error.h"

namespace robusta {

/// `count` indices of the rows of a table, each of `width` elements.
struct RowPicks {
  int64_t count = 0, rows = 0, width = 0;  ///< an index is 0 .. rows - 1
  std::string fix = {};                    ///< what a user can do about an index out of range
};

/// Throws the Error{kData} of an index that is not 0..rows-1.
template <typename T>
[[noreturn]] void throw_bad_pick(T index, int64_t place, const RowPicks& picks) {
  throw Error(ErrorKind::kData, str("index ", index, " at place ", place, " is out of range 0..", picks.rows - 1),
              picks.fix);
}

/// Throws it, naming the first that is out of range.
template <typename T>
void check_picks(const RowPicks& picks, const T* indices) {
  for (int64_t i = 0; i < picks.count; ++i) {
    const int row = to_label(indices[i]);
    if (row < 0 || row >= picks.rows) throw_bad_pick(indices[i], i, picks);
  }
}

/// Row i of `to` is row indices[i] of the table, plus `shift`, unless that is null. T is float or double.
/// REQUIRES: check_picks.
template <typename T>
void pick_rows(const RowPicks& picks, const T* indices, const T* table, const T* shift, T* to);

/// Bytes of scratch that sum_picked_rows wants.
inline size_t picks_scratch(const RowPicks& picks) {
  return static_cast<size_t>(picks.rows + 1 + picks.count) * sizeof(int64_t);
}

/// The transpose: row r of `sums` is the sum of the rows i of `from` with indices[i] == r; `add`: onto what is there.
/// Throws as check_picks, since a program may have written others since forward.
template <typename T>
void sum_picked_rows(const RowPicks& picks, const T* indices, const T* from, bool add, T* sums, void* scratch);

}  // namespace robusta
