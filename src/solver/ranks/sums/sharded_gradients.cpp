// Memory changes hands between collective calls, and each rank says by its next one that it has taken what it needs.
#include "solver/ranks/sums/sharded_gradients.h"

#include "base/str.h"
#include "memory/placement.h"
#include "robusta/error.h"

namespace robusta {
namespace {

bool overlap(const Bucket& a, const Bucket& b, DType type) {
  const auto end = [type](const Bucket& bucket) {
    return static_cast<const std::byte*>(bucket.data) + static_cast<size_t>(bucket.count) * size_of(type);
  };
  return a.data < end(b) && b.data < end(a);
}

}  // namespace

ShardedGradients::ShardedGradients(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail,
                                   std::unique_ptr<AllReduce> halves, std::vector<std::string> notes)
    : ShardedSum(ranks, net, std::move(gradients), tail, std::move(halves), std::move(notes)) {
  keep_own_elements();
  find_shared_memory();
}

void ShardedGradients::keep_own_elements() {
  const size_t element = size_of(type_);
  const auto bytes_of = [&](const Piece& piece) {
    return align_up(static_cast<size_t>(own(*piece.param)->count()) * element);
  };
  size_t bytes = 0;
  for (BucketId b(0); b < last_sum(); ++b) {
    for (const Piece& piece : pieces(b)) bytes += bytes_of(piece);
  }
  sums_ = DeviceBuffer(*net_.options().device, bytes);
  auto* at = static_cast<std::byte*>(sums_.data());
  for (BucketId b(0); b < last_sum(); ++b) {
    for (const Piece& piece : pieces(b)) {
      kept_[piece.param] = at;
      at += bytes_of(piece);
    }
  }
}

void ShardedGradients::find_shared_memory() {
  lies_on_.resize(buckets_.size());
  for (const BucketId later : buckets_.ids()) {
    for (BucketId earlier(0); earlier < later; ++earlier) {
      if (later == last_sum() || earlier == last_sum() || carries_weights(later) != carries_weights(earlier)) continue;
      if (overlap(buckets_[earlier], buckets_[later], type_)) lies_on_[later].push_back(earlier);
    }
  }
}

void ShardedGradients::begin_round(Gradients wanted) {
  if (wanted == Gradients::kOwn) return;
  throw Error(ErrorKind::kUsage,
              "the gradients of all ranks are looked at before the update (debug_info, -tensorboard, or a callback), "
              "and with -shard gradients no rank has all of them",
              "take -ddl \"-shard states\", or look at something else");
}

void ShardedGradients::sum(BucketId bucket) {
  if (carries_weights(bucket)) {
    // Others write their weights into this rank's memory: from here on it is this bucket's, and what a device has still
    // to copy from there is copied.
    if (stream_) ranges_[bucket].copied->wait();
    all_reduce_->meet();
  }
  ShardedSum::sum(bucket);
  // They read its gradients up to here.
  if (bucket < last_sum()) all_reduce_->meet();
}

void ShardedGradients::deliver(BucketId bucket) {
  if (bucket >= last_sum()) return ShardedSum::deliver(bucket);
  const auto* const summed = static_cast<const std::byte*>(buckets_[bucket].data);
  const size_t element = size_of(type_);
  for (const Piece& piece : pieces(bucket)) {
    const ElementRange mine = *own(*piece.param);
    if (mine.empty()) continue;
    const std::byte* const from = summed + piece.place + static_cast<size_t>(mine.begin) * element;
    copy_in(kept_.at(piece.param), from, static_cast<size_t>(mine.count()) * element);
  }
}

std::string ShardedGradients::describe() const { return str(ShardedSum::describe(), " and gradients"); }

}  // namespace robusta
