// A bucket is updated once, by whoever comes to it first: backward between two steps, forward before it reads one of
// its parameters, or the end of the round. Late rounds have no such buckets: all is left to the end.
#include "solver/ranks/sums/replicated_update.h"

#include <cassert>

namespace robusta {

ReplicatedUpdate::ReplicatedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
    : RankedUpdate(ranks, net, updater, std::move(sum)), updated_(last_sum_.index() + 1) {
  for (const ParamPtr& param : net.params()) {
    if (!bucket_of(*param)) without_gradient_.push_back(param.get());
  }
}

void ReplicatedUpdate::need(Param& param) {
  if (finished_) return;
  assert(!round_.late);
  const std::optional<BucketId> found = bucket_of(param);
  if (!found || updated_[*found]) return;
  wait_for(*found);
  update(*found);
}

void ReplicatedUpdate::finish() {
  updater_.finish_postponed();
  if (finished_) return;
  update_the_rest();
  finished_ = true;
}

bool ReplicatedUpdate::postpone() {
  assert(round_.late && !finished_);
  return finished_ = updater_.postpone();
}

void ReplicatedUpdate::update_the_rest() {
  wait_for(last_sum_);
  const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "the rest");
  for (const BucketId b : updated_.ids()) {
    if (!updated_[b] && !round_.late) sums().deliver(b);
  }
  updater_.finish();
}

void ReplicatedUpdate::between_steps() {
  if (round_.hold || round_.late) return;
  for (const BucketId b : IdRange(BucketId(0), reducer_.first_open())) {
    if (!updated_[b]) update(b);
  }
}

/// Decay acts on them before the next forward reads them, or changes them: they may be statistics.
void ReplicatedUpdate::after_sums() { updater_.ready(without_gradient_); }

void ReplicatedUpdate::update(BucketId b) {
  assert(!round_.hold);
  const DriverSpan span(recorder_, TraceKind::kUpdate, b.number());
  sums().deliver(b);
  updater_.ready(bucket(b).params);
  updated_[b] = 1;
}

std::unique_ptr<RankedUpdate> make_replicated_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ReplicatedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
