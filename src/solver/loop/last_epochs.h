/// NVIDIA's `test_and_snapshot_last_epochs`: at the end of each of the last epochs a test, and a snapshot with the
/// scores of the first test net in its name.
///
/// Epochs are counted back from the end of training, as in NVIDIA's Caffe: the last one ends with max_iter, whether or
/// not that is a whole number of epochs. NVIDIA's learns the length of an epoch while it trains, tests before an
/// iteration and saves after it, and leaves the last epoch out; here test and snapshot are of the same weights.
#pragma once

#include <cstdint>

#include "solver/loop/training.h"

namespace robusta {

/// Of the first source that has an end; 0: none has.
int64_t records_of(const Net& net);

class LastEpochs {
 public:
  /// Collective. The state knows its global batch. A reference is kept.
  explicit LastEpochs(const Training& training);

  /// Whether one of them ends with so many iterations.
  bool end_with(int iterations) const;

 private:
  const Training& training_;
  uint64_t records_ = 0;
};

}  // namespace robusta
