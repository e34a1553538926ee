// The halves of the sum leave to others what they do between: an update of a part of each bucket.
#include "solver/ranks/sums/sharded_sum.h"

#include <cassert>

#include "base/str.h"

namespace robusta {

ShardedSum::ShardedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> halves,
                       std::vector<std::string> notes)
    : CarryingSum(net, std::move(gradients), tail, std::move(halves), std::move(notes)), ranks_(ranks) {
  assert(all_reduce_->has_halves());
  for (const BucketId b : buckets_.ids()) {
    const ElementRange mine = all_reduce_->own(buckets_[b].count);
    for (const Piece& piece : pieces(b)) {
      const auto first = static_cast<int64_t>(piece.place / size_of(type_));
      own_[piece.param] = mine.within({first, first + piece.param->desc.count()});
    }
  }
}

void ShardedSum::complete(BucketId bucket) {
  if (carries_weights(bucket)) return take_own(bucket);
  StagedSum::complete(bucket);
}

void ShardedSum::sum(BucketId bucket) {
  const Bucket& b = buckets_[bucket];
  if (stream_) ranges_[bucket].copied->wait();
  if (carries_weights(bucket)) return all_reduce_->all_gather(b.data, b.count, type_);
  if (bucket == last_sum() || whole_) return all_reduce_->sum(b.data, b.count, type_, b.exact);
  all_reduce_->reduce_scatter(b.data, b.count, type_, b.exact);
}

void ShardedSum::deliver(BucketId bucket) {
  if (carries_weights(bucket)) return put_others(bucket);
  if (!stream_ || bucket == last_sum()) return;
  if (whole_) return StagedSum::deliver(bucket);
  const auto* const summed = static_cast<const std::byte*>(buckets_[bucket].data);
  const size_t element = size_of(type_);
  for (const Piece& piece : pieces(bucket)) {
    const ElementRange own = own_.at(piece.param);
    const size_t first = static_cast<size_t>(own.begin) * element;
    const size_t bytes = static_cast<size_t>(own.count()) * element;
    if (bytes == 0) continue;
    net_.stream().copy_to_device(static_cast<std::byte*>(piece.param->diff) + first, summed + piece.place + first,
                                 bytes);
  }
}

void ShardedSum::take_own(BucketId weights) {
  for (const Piece& piece : pieces(weights)) take(weights, piece, own_.at(piece.param));
  taken(weights);
}

void ShardedSum::put_others(BucketId weights) {
  for (const Piece& piece : pieces(weights)) {
    const ElementRange own = own_.at(piece.param);
    put(weights, piece, {0, own.begin});
    put(weights, piece, {own.end, piece.param->desc.count()});
  }
  has_put(weights);
}

std::string ShardedSum::describe() const {
  return str(all_reduce_->describe(), "; each rank updates its own part and keeps the states of that");
}

std::optional<ElementRange> ShardedSum::own(const Param& param) const {
  const auto found = own_.find(&param);
  if (found == own_.end()) return std::nullopt;
  return found->second;
}

std::vector<float> ShardedSum::whole(const Param& param, const std::vector<float>& own) {
  const std::vector<ElementRange> of_rank = ranks_.gather(own_.at(&param));
  const Ranks::Waiting waiting(ranks_);
  Communicator& control = ranks_.control();
  if (!ranks_.root()) {
    if (!own.empty()) control.exchange(own.data(), own.size() * sizeof(float), 0, nullptr, 0, -1);
    return {};
  }
  std::vector<float> all(static_cast<size_t>(param.desc.count()));
  std::copy(own.begin(), own.end(), all.begin() + of_rank[0].begin);
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    const ElementRange part = of_rank[static_cast<size_t>(rank)];
    if (part.empty()) continue;
    control.exchange(nullptr, 0, -1, all.data() + part.begin, static_cast<size_t>(part.count()) * sizeof(float), rank);
  }
  return all;
}

void ShardedSum::gather_weights() {
  for (BucketId b = last_sum() + 1; b < buckets_.end_id(); ++b) {
    complete(b);
    sum(b);
    deliver(b);
  }
}

}  // namespace robusta
