// Ranks of a group hold the same weights, and each part of them is summed by one rank of each group, as gradients are:
// so the sum over all ranks costs no more on the wire than one over the groups.
#include "solver/ranks/sums/local_sum.h"

#include "base/str.h"

namespace robusta {

LocalSum::LocalSum(const Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
                   std::vector<std::string> notes)
    : CarryingSum(net, std::move(gradients), tail, std::move(sum), std::move(notes)),
      ranks_(ranks.count()),
      group_(ranks.group_of_gradients()),
      every_(ranks.options().sync_every) {
  if (ranks.options().slow_momentum > 0) slow_.emplace(net, ranks.options().slow_momentum);
}

void LocalSum::plan_round(bool averages) {
  averages_ = averages;
  if (slow_ && !slow_->begun()) slow_->begin();
}

void LocalSum::complete(BucketId bucket) {
  if (!carries_weights(bucket)) {
    if (group_ > 1) StagedSum::complete(bucket);
    return;
  }
  for (const Piece& piece : pieces(bucket)) take(bucket, piece, {0, piece.param->desc.count()});
  taken(bucket);
}

void LocalSum::sum(BucketId bucket) {
  const Bucket& b = buckets_[bucket];
  if (carries_weights(bucket)) return average(bucket);
  if (bucket == last_sum() && averages_) return all_reduce_->sum(b.data, b.count, type_, b.exact);
  if (group_ == 1) return;
  if (stream_) ranges_[bucket].copied->wait();
  all_reduce_->sum_inner(b.data, b.count, type_);
}

void LocalSum::average(BucketId weights) {
  const Bucket& b = buckets_[weights];
  if (stream_) ranges_[weights].copied->wait();
  all_reduce_->sum(b.data, b.count, type_, b.exact);
  for (const Piece& piece : pieces(weights)) {
    void* const mean = static_cast<std::byte*>(b.data) + piece.place;
    dispatch(type_, [&](auto type) {
      auto* const values = static_cast<decltype(type)*>(mean);
      for (int64_t i = 0; i < piece.param->desc.count(); ++i) values[i] /= static_cast<decltype(type)>(ranks_);
    });
    if (slow_) slow_->step(*piece.param, mean, rate_);
  }
}

void LocalSum::deliver(BucketId bucket) {
  if (!carries_weights(bucket)) {
    if (group_ > 1 && bucket != last_sum()) StagedSum::deliver(bucket);
    return;
  }
  for (const Piece& piece : pieces(bucket)) put(bucket, piece, {0, piece.param->desc.count()});
  has_put(bucket);
}

void LocalSum::average_now() {
  for (BucketId b = last_sum() + 1; b < buckets_.end_id(); ++b) {
    complete(b);
    sum(b);
    deliver(b);
  }
}

std::vector<float> LocalSum::slow_momentum() const { return slow_ ? slow_->values() : std::vector<float>(); }

void LocalSum::set_slow_momentum(const std::vector<float>& values) {
  if (slow_ && !values.empty()) slow_->set_values(values);
}

std::string LocalSum::describe() const {
  const std::string local = group_ > 1 ? str("sums over the ", group_, " ranks of X in each iteration; ") : "";
  return str(local, "averages of the weights of all ", ranks_, " every ", every_, " iterations, by ",
             all_reduce_->describe());
}

}  // namespace robusta
