// Gradients of complete buckets are summed while backward goes on (Li et al. 2020, "PyTorch Distributed: Experiences on
// Accelerating Data Parallel Training", section 3.2), and summed buckets are updated between its steps; what is still
// under way when it ends is waited for by the next forward, parameter by parameter (Peng et al. 2019, "A Generic
// Communication Scheduler for Distributed DNN Training Acceleration", section 2).
#include "solver/ranks/sums/ranked_update.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

#include "base/log.h"
#include "solver/ranks/agreement.h"
#include "solver/ranks/sums/choose_sum.h"

namespace robusta {
namespace {

constexpr double kDefaultBucketMb = 4;
constexpr int64_t kVotes = sizeof(Votes) / sizeof(double);

Buckets buckets_of(const Ranks& ranks, const Net& net, const CompressedParams& compressed) {
  const double mb = ranks.options().bucket_mb > 0 ? ranks.options().bucket_mb : kDefaultBucketMb;
  return plan_buckets(net.param_memory().completion(), static_cast<size_t>(mb * (1 << 20)),
                      net.param_memory().gradient_tail(), kVotes,
                      [&](const Param& param) { return compressed.has(param); });
}

}  // namespace

RankedUpdate::RankedUpdate(Ranks& ranks, Net& net, Updater& updater)
    : ranks_(ranks),
      updater_(updater),
      compressed_(compressed_params(ranks.options(), net)),
      type_(net.options().dtype),
      reducer_(make_bucket_sum(ranks, net, buckets_of(ranks, net, compressed_), compressed_.options)),
      tail_(reducer_.sums().tail()) {
  const Buckets& buckets = reducer_.buckets();
  for (const BucketId b : buckets.ids()) {
    for (const Param* param : buckets[b].params) bucket_of_[param] = b;
  }
  missing_.resize(buckets.size());
  updated_.assign(buckets.size(), 1);
  if (!ranks.alone()) {
    require_equal(ranks, "the table of buckets", hash_of(buckets), "give all ranks the same -ddl options");
  }
}

void RankedUpdate::record_in(TraceRecorder& recorder) {
  recorder_ = &recorder;
  reducer_.record_in(&recorder.reductions());
}

void RankedUpdate::begin(const Votes& mine, bool hold) {
  assert(finished_);
  reducer_.begin();
  assert(hold || !updater_.clips());
  hold_ = hold;
  finished_ = false;
  next_ = BucketId(0);
  for (const BucketId b : missing_.ids()) {
    missing_[b] = reducer_.buckets()[b].params.size();
    updated_[b] = 0;
  }
  const double votes[kVotes] = {mine.loss, mine.not_finite, mine.stop, mine.snapshot, mine.out_of_time};
  dispatch(type_, [&](auto type) { std::copy_n(votes, kVotes, static_cast<decltype(type)*>(tail_)); });
}

void RankedUpdate::ready(Param& param) {
  --missing_[bucket_of_.at(&param)];
  while (missing_.contains(next_) && missing_[next_] == 0) post();
  update_reduced();
}

bool RankedUpdate::urgent(const Param& param) const {
  return reducer_.buckets()[bucket_of_.at(&param)].params.back() == &param;
}

void RankedUpdate::post() {
  if (recorder_) recorder_->posted(next_.number());
  reducer_.sums().complete(next_);
  reducer_.post();
  ++next_;
}

Votes RankedUpdate::agree() {
  // A net in which nothing learns has one bucket, of the votes alone.
  while (missing_.contains(next_)) post();
  wait_for(last());
  double votes[kVotes];
  dispatch(type_, [&](auto type) { std::copy_n(static_cast<const decltype(type)*>(tail_), kVotes, votes); });
  return {.loss = votes[0], .not_finite = votes[1], .stop = votes[2], .snapshot = votes[3], .out_of_time = votes[4]};
}

void RankedUpdate::need(Param& param) {
  if (finished_) return;
  const auto found = bucket_of_.find(&param);
  if (found == bucket_of_.end() || updated_[found->second]) return;
  wait_for(found->second);
  update(found->second);
}

void RankedUpdate::finish() {
  if (finished_) return;
  wait_for(last());
  {
    const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "the rest");
    for (const BucketId b : updated_.ids()) {
      if (!updated_[b]) reducer_.sums().deliver(b);
    }
    updater_.finish();
  }
  updated_.assign(updated_.size(), 1);
  finished_ = true;
}

void RankedUpdate::wait_for(BucketId bucket) {
  BucketId open = reducer_.first_open();
  if (open > bucket) return;
  {
    const DriverSpan span(recorder_, TraceKind::kBucketWait, bucket.number());
    // One after the other: each is a sign of progress on a slow network.
    for (; open <= bucket; open = reducer_.first_open()) {
      char what[64];
      std::snprintf(what, sizeof what, "bucket %d of %zu", open.number() + 1, missing_.size());
      ranks_.doing(what, Activity::kWaiting);
      reducer_.wait(open);
    }
  }
  ranks_.doing("the update");
}

void RankedUpdate::update(BucketId bucket) {
  assert(!hold_);
  const DriverSpan span(recorder_, TraceKind::kUpdate, bucket.number());
  reducer_.sums().deliver(bucket);
  for (Param* param : reducer_.buckets()[bucket].params) updater_.ready(*param);
  updated_[bucket] = 1;
}

void RankedUpdate::update_reduced() {
  if (hold_) return;
  for (const BucketId b : IdRange(BucketId(0), reducer_.first_open())) {
    if (!updated_[b]) update(b);
  }
}

int64_t RankedUpdate::gradients() const {
  int64_t count = 0;
  for (const Bucket& bucket : reducer_.buckets()) count += bucket.count - bucket.tail;
  return count;
}

std::vector<float> RankedUpdate::settle_left() {
  AllReduce* const reduction = reducer_.sums().reduction();
  if (!reduction || compressed_.options.compress != Compression::kInt8) return {};
  std::vector<float> left(static_cast<size_t>(gradients()));
  float* next = left.data();
  bool keeps = false;
  for (const Bucket& bucket : reducer_.buckets()) {
    const int64_t count = bucket.count - bucket.tail;
    keeps = reduction->add_left(bucket.data, count, next) || keeps;
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

void RankedUpdate::begin_with_left(const std::vector<float>& left) {
  if (left.empty() || !reducer_.sums().reduction() || compressed_.options.compress != Compression::kInt8) return;
  if (static_cast<int64_t>(left.size()) != gradients()) {
    LOG_WARNING << "The state has what compression left out of " << left.size() << " gradients, and the net has "
                << gradients() << ": it is passed over";
    return;
  }
  give_left(left);
}

void RankedUpdate::give_left(const std::vector<float>& left) {
  const float* next = left.data();
  for (const Bucket& bucket : reducer_.buckets()) {
    const int64_t count = bucket.count - bucket.tail;
    reducer_.sums().reduction()->give_left(bucket.data, count, next);
    next += count;
  }
}

}  // namespace robusta
