/// What every sum over ranks offers, whatever algorithms it is put together from.
///
/// Made once, then run for each bucket of each iteration, by one thread per rank, with no allocation. Every rank gets
/// the same bits: one rank computes each sum and the others copy it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/element_range.h"
#include "tensor/dtype.h"

namespace robusta {

/// Where the time of the reductions went since the last call of take_times().
struct DimensionTime {
  std::string dimension;  ///< "X (4 ranks, within a host)"
  std::string algorithm;  ///< "ring"
  double seconds = 0;     ///< spent in it, waiting included
  double bytes = 0;       ///< that this rank sent
};

class AllReduce {
 public:
  virtual ~AllReduce() = default;
  /// Sums `count` elements over all ranks, in place. Blocks. The last `exact` of them are never compressed.
  virtual void sum(void* data, int64_t count, DType type, int64_t exact = 0) = 0;
  /// A sum in its two halves, with work between them, and whether it has such: reduce_scatter() leaves in each rank's
  /// own elements their sums, and what the others hold is undefined; all_gather() hands each rank's own elements to
  /// all, as they are. Until then nobody writes but in the own elements. REQUIRES: data that make_all_reduce was told
  /// of.
  virtual bool has_halves() const { return false; }
  /// Of `count` elements this rank's own.
  virtual ElementRange own(int64_t count) const { return {0, count}; }
  virtual void reduce_scatter(void* data, int64_t count, DType type, int64_t exact = 0) {}
  virtual void all_gather(void* data, int64_t count, DType type) {}
  /// Returns when no other rank reads or writes this one's data on behalf of the halves before, and each other has come
  /// as far. Whoever calls it has copied what he wants of his own data, for others may write there from here on.
  /// Whoever gives the memory of data to other data calls it before each all_gather() and after each reduce_scatter().
  /// Blocks.
  virtual void meet() {}
  /// The sum over this rank's group in X alone, the innermost dimension, in place, whatever the other groups do.
  /// REQUIRES: data that make_all_reduce was told of, and a mode that sums by dimension.
  virtual void sum_inner(void* data, int64_t count, DType type) {}
  /// What compression has left out of data that sum() was given and will be added to it the next time, over all ranks
  /// and rounds: this rank's part is added to `left`, of which each element belongs to one of the data. False, and
  /// nothing happens, where nothing is kept.
  virtual bool add_left(void* data, int64_t count, float* left) { return false; }
  /// `left`, the same on all ranks, takes the place of all their parts.
  virtual void give_left(void* data, int64_t count, const float* left) {}
  /// "reduce-scatter and all-gather over 4x2 ranks: shared memory, ring"
  virtual std::string describe() const = 0;
  virtual std::vector<DimensionTime> take_times() { return {}; }
  /// What the user should read once, at start: measurements, a mode that falls to another, a rank file.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace robusta
