// Picking is a copy of rows. The way back sorts the places of the list by row first (counting sort), so that each row's
// sum is one thread's.

#include "layers/kit/picked_rows.h"

#include <algorithm>

#include "base/parallel.h"

namespace robusta {
namespace {

constexpr int64_t kPickGrain = 1 << 14;  // elements

/// The places of row r are places[ends[r - 1]] ... places[ends[r] - 1], in order.
template <typename T>
void sort_places(const RowPicks& picks, const T* indices, int64_t* ends, int64_t* places) {
  std::fill_n(ends, picks.rows + 1, 0);
  for (int64_t i = 0; i < picks.count; ++i) ++ends[to_label(indices[i]) + 1];
  for (int64_t row = 0; row < picks.rows; ++row) ends[row + 1] += ends[row];
  // Where a row begins becomes where it ends, as its places are filled in.
  for (int64_t i = 0; i < picks.count; ++i) places[ends[to_label(indices[i])]++] = i;
}

}  // namespace

template <typename T>
void pick_rows(const RowPicks& picks, const T* indices, const T* table, const T* shift, T* to) {
  parallel_for(picks.count, 1 + kPickGrain / picks.width, [&](int64_t i) {
    const T* row = table + to_label(indices[i]) * picks.width;
    T* out = to + i * picks.width;
    if (!shift) {
      std::copy_n(row, picks.width, out);
    } else {
      for (int64_t k = 0; k < picks.width; ++k) out[k] = row[k] + shift[k];
    }
  });
}

template <typename T>
void sum_picked_rows(const RowPicks& picks, const T* indices, const T* from, bool add, T* sums, void* scratch) {
  check_picks(picks, indices);
  auto* ends = static_cast<int64_t*>(scratch);
  int64_t* places = ends + picks.rows + 1;
  sort_places(picks, indices, ends, places);
  // Long rows are cut, so that few of them occupy many threads.
  const int64_t parts = (picks.width + kPickGrain - 1) / kPickGrain;
  parallel_for(picks.rows * parts, 1 + kPickGrain / picks.width, [&](int64_t task) {
    const int64_t row = task / parts, begin = task % parts * kPickGrain;
    const int64_t count = std::min(kPickGrain, picks.width - begin);
    T* sum = sums + row * picks.width + begin;
    if (!add) std::fill_n(sum, count, T{0});
    for (int64_t p = row > 0 ? ends[row - 1] : 0; p < ends[row]; ++p) {
      const T* term = from + places[p] * picks.width + begin;
      for (int64_t k = 0; k < count; ++k) sum[k] += term[k];
    }
  });
}

template void pick_rows(const RowPicks&, const float*, const float*, const float*, float*);
template void pick_rows(const RowPicks&, const double*, const double*, const double*, double*);
template void sum_picked_rows(const RowPicks&, const float*, const float*, bool, float*, void*);
template void sum_picked_rows(const RowPicks&, const double*, const double*, bool, double*, void*);

}  // namespace robusta
