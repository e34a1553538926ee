/// Plain arrays, row by row, as factors in panels.
#pragma once

#include <array>
#include <cstddef>

#include "base/parallel.h"
#include "ops/amx/panels.h"
#include "ops/amx/ranges.h"

namespace robusta::amx {

inline constexpr int64_t kPlaces = 256;  ///< of terms that are packed at a time: whole steps

inline size_t bytes_of_panels(int64_t lines, int64_t terms) {
  return static_cast<size_t>(pairs_of(lines, terms)) * sizeof(uint32_t);
}
inline int64_t padded(int64_t lines) { return panels_of(lines) * kPanelLines; }
/// The lines of panel `panel`.
inline Range lines_of(int64_t lines, int64_t panel) {
  return {panel * kPanelLines, std::min((panel + 1) * kPanelLines, lines)};
}

/// A factor in panels.
template <typename Pairs>
struct Panels {
  Pairs* pairs;
  int64_t terms;
  /// Panel `panel` from term `term` on, where a step begins.
  Pairs* at(int64_t panel, int64_t term = 0) const {
    return pairs + (panel * steps_of(terms) + term / kStepTerms) * kStepPairs;
  }
};

/// Rows as lines, on all threads.
template <typename T>
void pack_rows(const T* first, int64_t rows, int64_t terms, Side side, const Panels<uint32_t>& to) {
  parallel_for(panels_of(rows), 1, [=](int64_t panel) {
    const Range lines = lines_of(rows, panel);
    pack_lines(first + lines.begin * terms, terms, lines.size(), terms, side, to.at(panel));
  });
}

/// Where some rows begin, which are `next` numbers apart; at most kPlaces.
template <typename T>
class RowPlaces {
 public:
  RowPlaces(const T* first, int64_t next, int64_t count) {
    for (int64_t i = 0; i < count; ++i) rows_[static_cast<size_t>(i)] = first + i * next;
  }
  const T* const* data() const { return rows_.data(); }

 private:
  std::array<const T*, kPlaces> rows_;
};

/// Columns as lines, on all threads.
inline void pack_columns(const uint16_t* first, int64_t rows, int64_t columns, Side side, const Panels<uint32_t>& to) {
  parallel_for(panels_of(columns), 1, [=](int64_t panel) {
    const Range lines = lines_of(columns, panel);
    in_pieces(rows, kPlaces, [&](Range terms) {
      const RowPlaces<uint16_t> places(first + terms.begin * columns + lines.begin, columns, terms.size());
      pack_terms(places.data(), terms.size(), lines.size(), side, to.at(panel, terms.begin));
    });
  });
}

}  // namespace robusta::amx
