/// Which record stands at a global sample position.
///
/// The order is a pure function of (key, position): nothing is stored and nothing advances. Any number of ranks, each
/// asking for its own positions, sees together what one rank would see; a resumed run goes on where it stopped.
/// Immutable, usable by many threads.
#pragma once

#include <cstdint>

namespace robusta {

class Sampler {
 public:
  /// `shuffle` false: the records in key order, again and again. True: each epoch in an order of its own, drawn by
  /// `key`. REQUIRES: count > 0.
  Sampler(int64_t count, bool shuffle, uint64_t key);

  /// The record at `position`, in 0..count-1. Positions k*count .. (k+1)*count-1 hold each record once.
  int64_t index(uint64_t position) const;
  uint64_t epoch(uint64_t position) const { return position / count_; }

 private:
  uint64_t count_, key_;  ///< records of an epoch
  bool shuffle_;
};

/// Where `value` goes in the pseudo-random permutation number `stream` of 0..count-1 under `key`; takes no memory and
/// about a microsecond. REQUIRES: value < count <= 2^62.
uint64_t permuted(uint64_t value, uint64_t count, uint64_t key, uint64_t stream);

}  // namespace robusta
