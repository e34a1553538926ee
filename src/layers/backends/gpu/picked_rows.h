/// Rows that a list of indices picks (kit/picked_rows.h), on the GPU. For files named *_gpu.cpp.
///
/// An index out of range picks zeros; it is noted for the host, which throws when the pass is done (labels.h). For the
/// way back each row has a list of its places: each of many threads goes through all indices and links those of its own
/// rows, so that the order is that of the list, and no sum needs an atomic.
#pragma once

#include "device/gpu/divisor.h"
#include "device/gpu/reduce.h"
#include "layers/backends/gpu/labels.h"
#include "layers/kit/picked_rows.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

namespace detail {

/// For reduce_all: finds the first index out of range.
struct FirstBadPick {
  using Sum = int64_t;
  LabelReader index;
  ROBUSTA_GPU Sum zero() const { return kNoPlace; }
  ROBUSTA_GPU Sum join(Sum a, Sum b) const { return a < b ? a : b; }
  ROBUSTA_GPU Sum term(int64_t i) const { return index(i) < 0 ? i : kNoPlace; }
  ROBUSTA_GPU void store(Sum first) const { index.report(first); }
};

/// One element of `to`. `shift` may be null.
template <typename From, typename To>
struct PickEach {
  LabelReader index;
  Divisor by_width;
  int64_t width;
  const From *table, *shift;
  To* to;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t place = i;
    const int64_t k = by_width.take_off(place);
    const int row = index(place);
    float value = row < 0 ? 0.0f : static_cast<float>(table[row * width + k]);
    if (shift) value += static_cast<float>(shift[k]);
    to[i] = static_cast<To>(value);
  }
};

inline constexpr int64_t kPickThreads = 1024;

/// Links the places of the rows t, t + kPickThreads, ...: the first of row r is first[r], behind i comes next[i]; -1
/// ends a list.
struct LinkPlaces {
  LabelReader index;
  int64_t count, rows;
  int64_t *first, *next;
  ROBUSTA_GPU void operator()(int64_t t) const {
    for (int64_t row = t; row < rows; row += kPickThreads) first[row] = -1;
    for (int64_t i = count - 1; i >= 0; --i) {
      const int row = index(i);
      if (row < 0 || row % kPickThreads != t) continue;
      next[i] = first[row];
      first[row] = i;
    }
  }
};

/// One element of the sums.
template <typename From, typename To>
struct SumPlaces {
  Divisor by_width;
  int64_t width;
  const int64_t *first, *next;
  const From* from;
  To* sums;
  bool adds;
  ROBUSTA_GPU void operator()(int64_t i) const {
    int64_t row = i;
    const int64_t k = by_width.take_off(row);
    double sum = adds ? static_cast<double>(static_cast<float>(sums[i])) : 0;
    for (int64_t place = first[row]; place >= 0; place = next[place]) {
      sum += static_cast<double>(static_cast<float>(from[place * width + k]));
    }
    sums[i] = static_cast<To>(static_cast<float>(sum));
  }
};

}  // namespace detail

class GpuPickedRows {
 public:
  GpuPickedRows(const KernelRequest& request, const RowPicks& picks)
      : picks_(picks), watch_(request, picks.rows, 1, std::nullopt) {}

  size_t forward_scratch() const { return reduce_all_scratch<detail::FirstBadPick>(picks_.count); }
  size_t backward_scratch() const { return static_cast<size_t>(picks_.rows + picks_.count) * sizeof(int64_t); }

  template <typename From, typename To>
  void pick(const KernelRun& run, const float* indices, const From* table, const From* shift, To* to) const {
    const LabelReader index = watch_.reader(indices);
    reduce_all(run.stream, picks_.count, run.scratch, detail::FirstBadPick{index});
    for_each(run.stream, picks_.count * picks_.width,
             detail::PickEach<From, To>{index, Divisor(picks_.width), picks_.width, table, shift, to});
  }

  template <typename From, typename To>
  void sum(const KernelRun& run, const float* indices, const From* from, bool add, To* sums) const {
    auto* first = static_cast<int64_t*>(run.scratch);
    int64_t* next = first + picks_.rows;
    for_each(run.stream, std::min(detail::kPickThreads, picks_.rows),
             detail::LinkPlaces{watch_.reader(indices), picks_.count, picks_.rows, first, next});
    for_each(run.stream, picks_.rows * picks_.width,
             detail::SumPlaces<From, To>{Divisor(picks_.width), picks_.width, first, next, from, sums, add});
  }

  /// For Kernel::check.
  void check() const {
    if (const auto bad = watch_.take()) throw_bad_pick(bad->label, bad->place, picks_);
  }

 private:
  RowPicks picks_;
  LabelWatch watch_;
};

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
