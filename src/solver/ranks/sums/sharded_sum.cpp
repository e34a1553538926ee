// The halves of the sum leave to others what they do between: an update of a part of each bucket.
#include "solver/ranks/sums/sharded_sum.h"

#include <cassert>

#include "base/str.h"
#include "solver/ranks/sums/parts.h"

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
  return whole_of_parts(ranks_, param, own_.at(&param), own);
}

void ShardedSum::gather_weights() {
  for (BucketId b = last_sum() + 1; b < buckets_.end_id(); ++b) {
    complete(b);
    sum(b);
    deliver(b);
  }
}

}  // namespace robusta
