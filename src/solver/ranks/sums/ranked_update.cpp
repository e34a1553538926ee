// Gradients of complete buckets are summed while backward goes on (Li et al. 2020, "PyTorch Distributed: Experiences on
// Accelerating Data Parallel Training", section 3.2).
#include "solver/ranks/sums/ranked_update.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

#include "base/log.h"

namespace robusta {

RankedUpdate::RankedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
    : ranks_(ranks),
      updater_(updater),
      reducer_(std::move(sum.sums)),
      last_sum_(reducer_.sums().last_sum()),
      keeps_left_(sum.keeps_left),
      apart_(reducer_.sums().waits_on_gpu()),
      stream_(net.stream()),
      type_(net.options().dtype),
      tail_(reducer_.sums().tail()) {
  for (const BucketId b : summed()) {
    for (const Param* param : bucket(b).params) bucket_of_[param] = b;
  }
  missing_.resize(last_sum_.index() + 1);
  arrived_.resize(reducer_.buckets().size());
}

RankedUpdate::~RankedUpdate() {
  if (finished_ || !sent_) return;
  try {
    receive_all_weights();
  } catch (const std::exception& error) {
    LOG_ERROR << "the weights of this iteration were not handed to all: " << error.what();
  }
}

void RankedUpdate::record_in(TraceRecorder& recorder) {
  recorder_ = &recorder;
  reducer_.record_in(&recorder.reductions());
}

std::optional<BucketId> RankedUpdate::bucket_of(const Param& param) const {
  const auto found = bucket_of_.find(&param);
  if (found == bucket_of_.end()) return std::nullopt;
  return found->second;
}

void RankedUpdate::begin(const Round& round) {
  assert(finished_);
  assert(!round.late || has_late_rounds());
  assert(round.hold || round.late || (!updater_.clips() && !round.shows_gradients));
  reducer_.begin();
  sums().begin_round(round.shows_gradients ? BucketSum::Gradients::kWhole : BucketSum::Gradients::kOwn);
  round_ = round;
  finished_ = voted_ = false;
  next_ = BucketId(0);
  for (const BucketId b : missing_.ids()) missing_[b] = bucket(b).params.size();
  sent_ = false;
  arrived_.assign(arrived_.size(), 0);
  begin_round();
}

void RankedUpdate::vote(const Votes& mine) {
  write_votes(mine, type_, tail_);
  voted_ = true;
  if (!apart_) post_complete();
}

void RankedUpdate::ready(Param& param) {
  --missing_[bucket_of_.at(&param)];
  if (apart_) return;
  post_complete();
  between_steps();
}

void RankedUpdate::post_complete() {
  while (missing_.contains(next_) && missing_[next_] == 0 && (voted_ || next_ < last_sum_)) post();
}

bool RankedUpdate::urgent(const Param& param) const { return bucket(bucket_of_.at(&param)).params.back() == &param; }

void RankedUpdate::post() {
  if (recorder_) recorder_->posted(next_.number());
  sums().complete(next_);
  reducer_.post();
  ++next_;
}

Votes RankedUpdate::agree() {
  assert(voted_);
  if (apart_) stream_.synchronize();
  apart_ = false;
  // A net in which nothing learns has one bucket, of the votes alone.
  while (next_ <= last_sum_) post();
  if (round_.late) deliver_all();
  wait_for(last_sum_);
  // Where one has failed this is the last iteration, on all ranks.
  const Votes all = read_votes(type_, tail_);
  if (!round_.hold && !round_.late && all.failed == 0) after_sums();
  if (round_.late && all.failed > 0) finished_ = true;
  return all;
}

/// Backward is enqueued by then: what brings the first sums into place runs beside the last sums.
void RankedUpdate::deliver_all() {
  for (const BucketId b : summed()) {
    wait_for(b);
    sums().deliver(b);
  }
}

void RankedUpdate::wait_for(BucketId bucket) {
  BucketId open = reducer_.first_open();
  if (open > bucket) return;
  {
    const DriverSpan span(recorder_, TraceKind::kBucketWait, bucket.number());
    // One after the other: each is a sign of progress on a slow network.
    for (; open <= bucket; open = reducer_.first_open()) {
      char what[64];
      std::snprintf(what, sizeof what, "bucket %d of %zu", open.number() + 1, reducer_.buckets().size());
      ranks_.doing(what, Activity::kWaiting);
      reducer_.wait(open);
    }
  }
  ranks_.doing("the update");
}

void RankedUpdate::send_weights() {
  sent_ = true;
  post_weights();
}

void RankedUpdate::post_weights() {
  for (; next_ < arrived_.end_id(); post()) {
    for (const BucketId earlier : sums().lies_on(next_)) {
      if (!arrived_[earlier] && reducer_.first_open() <= earlier) return;
      put_weights(earlier);
    }
  }
}

void RankedUpdate::receive_weights(BucketId weights) {
  post_weights();  // places may have become free since
  if (arrived_[weights]) return;
  while (next_ <= weights) {
    for (const BucketId earlier : sums().lies_on(next_)) put_weights(earlier);
    post_weights();
  }
  put_weights(weights);
  post_weights();
}

void RankedUpdate::put_weights(BucketId weights) {
  if (arrived_[weights]) return;
  wait_for(weights);
  const DriverSpan span(recorder_, TraceKind::kUpdate, weights.number());
  sums().deliver(weights);
  arrived_[weights] = 1;
}

void RankedUpdate::receive_all_weights() {
  for (BucketId b = last_sum_ + 1; b < arrived_.end_id(); ++b) receive_weights(b);
}

void RankedUpdate::save(TrainingState& state) { state.compression_left = settle_left(); }

int64_t RankedUpdate::gradients() {
  int64_t count = 0;
  for (const BucketId b : summed()) count += bucket(b).count - bucket(b).tail;
  return count;
}

std::vector<float> RankedUpdate::settle_left() {
  AllReduce* const reduction = sums().reduction();
  if (!reduction || !keeps_left_) return {};
  std::vector<float> left(static_cast<size_t>(gradients()));
  float* next = left.data();
  bool keeps = false;
  for (const BucketId b : summed()) {
    const int64_t count = bucket(b).count - bucket(b).tail;
    keeps = reduction->add_left(bucket(b).data, count, next) || keeps;
    next += count;
  }
  // Of ranks that have no dimension between hosts none keeps anything.
  if (!keeps) return {};
  const Ranks::Waiting waiting(ranks_);
  ranks_.control().all_reduce(left.data(), static_cast<int64_t>(left.size()), DType::kF32);
  ranks_.broadcast(left.data(), left.size() * sizeof(float));  // a library's sum may differ in its last bits
  give_left(left);
  return left;
}

void RankedUpdate::begin_with(const TrainingState& state) {
  const std::vector<float>& left = state.compression_left;
  if (left.empty() || !sums().reduction() || !keeps_left_) return;
  if (static_cast<int64_t>(left.size()) != gradients()) {
    LOG_WARNING << "The state has what compression left out of " << left.size() << " gradients, and the net has "
                << gradients() << ": it is passed over";
    return;
  }
  give_left(left);
}

void RankedUpdate::give_left(const std::vector<float>& left) {
  const float* next = left.data();
  for (const BucketId b : summed()) {
    const int64_t count = bucket(b).count - bucket(b).tail;
    sums().reduction()->give_left(bucket(b).data, count, next);
    next += count;
  }
}

std::unique_ptr<RankedUpdate> make_ranked_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  const Shards* const shards = sum.sums->shards();
  const auto make = ranks.options().served.servers > 0 ? make_served_update
                    : shards && shards->keep_weights() ? make_cut_update
                    : shards                           ? make_sharded_update
                    : sum.sums->periodic_average()     ? make_local_update
                                                       : make_replicated_update;
  return make(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
