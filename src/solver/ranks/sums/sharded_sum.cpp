// The halves of the sum leave to others what they do between: an update of a part of each bucket.
#include "solver/ranks/sums/sharded_sum.h"

#include <cassert>
#include <cstring>

#include "base/parallel.h"
#include "base/str.h"

namespace robusta {
namespace {

Buckets with_weights(Buckets buckets, const Bucket& tail) {
  const size_t gradients = buckets.size();
  buckets.push_back(tail);
  for (size_t b = gradients; b-- > 0;) {
    Bucket weights = buckets[BucketId(static_cast<int>(b))];
    weights.exact = weights.count;
    buckets.push_back(std::move(weights));
  }
  return buckets;
}

void copy_on_host(void* to, const void* from, size_t bytes) {
  constexpr int64_t kGrain = int64_t{1} << 18;  // bytes that are worth a thread
  parallel_ranges(static_cast<int64_t>(bytes), kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace

ShardedSum::ShardedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> halves,
                       std::vector<std::string> notes)
    : StagedSum(net, with_weights(gradients, tail), std::move(halves), std::move(notes)),
      ranks_(ranks),
      gradients_(static_cast<int>(gradients.size())) {
  assert(all_reduce_->has_halves());
  for (const BucketId b : buckets_.ids()) find_pieces(b);
}

void ShardedSum::find_pieces(BucketId bucket) {
  const Bucket& b = buckets_[bucket];
  const auto* const begin = static_cast<const std::byte*>(gradients_at(bucket));
  const ElementRange mine = all_reduce_->own(b.count);
  const size_t element = size_of(type_);
  pieces_.emplace_back();
  for (Param* param : b.params) {
    const auto place = static_cast<size_t>(static_cast<const std::byte*>(param->diff) - begin);
    const auto first = static_cast<int64_t>(place / element);
    const ElementRange own = mine.within({first, first + param->desc.count()});
    pieces_[bucket].push_back({param, place, own});
    own_[param] = own;
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
  for (const Piece& piece : pieces_[bucket]) {
    const size_t first = static_cast<size_t>(piece.own.begin) * element;
    const size_t bytes = static_cast<size_t>(piece.own.count()) * element;
    if (bytes == 0) continue;
    net_.stream().copy_to_device(static_cast<std::byte*>(piece.param->diff) + first, summed + piece.place + first,
                                 bytes);
  }
}

void ShardedSum::take_own(BucketId weights) {
  auto* const travels = static_cast<std::byte*>(buckets_[weights].data);
  const size_t element = size_of(type_);
  for (const Piece& piece : pieces_[weights]) {
    const size_t first = static_cast<size_t>(piece.own.begin) * element;
    const size_t bytes = static_cast<size_t>(piece.own.count()) * element;
    if (bytes == 0) continue;
    std::byte* const to = travels + piece.place + first;
    const std::byte* const from = static_cast<const std::byte*>(piece.param->data) + first;
    if (stream_) {
      net_.stream().copy_to_host(to, from, bytes);
    } else {
      copy_on_host(to, from, bytes);
    }
  }
  if (stream_) ranges_[weights].copied = net_.stream().record();
}

void ShardedSum::put_others(BucketId weights) {
  const auto* const travelled = static_cast<const std::byte*>(buckets_[weights].data);
  for (const Piece& piece : pieces_[weights]) {
    put(piece, travelled, {0, piece.own.begin});
    put(piece, travelled, {piece.own.end, piece.param->desc.count()});
    net_.stream().run([param = piece.param] { ++param->version; });  // in the order of the stream, as kernels read it
  }
}

void ShardedSum::put(const Piece& piece, const std::byte* travelled, ElementRange elements) {
  if (elements.empty()) return;
  const size_t element = size_of(type_), first = static_cast<size_t>(elements.begin) * element;
  const size_t bytes = static_cast<size_t>(elements.count()) * element;
  std::byte* const to = static_cast<std::byte*>(piece.param->data) + first;
  const std::byte* const from = travelled + piece.place + first;
  if (stream_) {
    net_.stream().copy_to_device(to, from, bytes);
  } else {
    copy_on_host(to, from, bytes);
  }
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
