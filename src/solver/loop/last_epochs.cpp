// The j-th epoch from the end ends at iteration max_iter - floor(j * records / samples per iteration).
#include "solver/loop/last_epochs.h"

namespace robusta {

int64_t records_of(const Net& net) {
  for (const Node& node : net.graph().nodes) {
    if (node.source && node.source->records() != 0) return node.source->records();
  }
  return 0;
}

LastEpochs::LastEpochs(const Training& training) : training_(training) {
  if (training.param().test_and_snapshot_last_epochs() == 0) return;
  // With a source for each rank they may differ, but all have to test at once.
  records_ = static_cast<uint64_t>(records_of(training.net));
  training.ranks.broadcast_value(records_);
}

bool LastEpochs::end_with(int iterations) const {
  const auto epochs = static_cast<uint64_t>(training_.param().test_and_snapshot_last_epochs());
  const int64_t left = int64_t{training_.param().max_iter()} - iterations;
  if (epochs == 0 || left < 0) return false;
  if (left == 0 || records_ == 0) return left == 0;
  const uint64_t batch = training_.state.global_batch, before_end = static_cast<uint64_t>(left);
  const uint64_t epoch = (before_end * batch + records_ - 1) / records_;  // the first that ends so early
  return epoch < epochs && epoch * records_ / batch == before_end;
}

}  // namespace robusta
