// A weight lies in its bucket where its gradient does, so that the table of buckets says all.
#include "solver/ranks/sums/carrying_sum.h"

#include <cstring>

#include "base/parallel.h"

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

CarryingSum::CarryingSum(Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> all_reduce,
                         std::vector<std::string> notes)
    : StagedSum(net, with_weights(gradients, tail), std::move(all_reduce), std::move(notes)),
      gradients_(static_cast<int>(gradients.size())) {
  for (const BucketId b : buckets_.ids()) {
    const auto* const begin = static_cast<const std::byte*>(gradients_at(b));
    pieces_.emplace_back();
    for (Param* param : buckets_[b].params) {
      pieces_[b].push_back({param, static_cast<size_t>(static_cast<const std::byte*>(param->diff) - begin)});
    }
  }
}

void CarryingSum::take(BucketId weights, const Piece& piece, ElementRange elements) {
  if (elements.empty()) return;
  const size_t element = size_of(type_), first = static_cast<size_t>(elements.begin) * element;
  const size_t bytes = static_cast<size_t>(elements.count()) * element;
  std::byte* const to = static_cast<std::byte*>(buckets_[weights].data) + piece.place + first;
  const std::byte* const from = static_cast<const std::byte*>(piece.param->data) + first;
  if (stream_) {
    net_.stream().copy_to_host(to, from, bytes);
  } else {
    copy_on_host(to, from, bytes);
  }
}

void CarryingSum::taken(BucketId weights) {
  if (stream_) ranges_[weights].copied = net_.stream().record();
}

void CarryingSum::put(BucketId weights, const Piece& piece, ElementRange elements) {
  if (elements.empty()) return;
  const size_t element = size_of(type_), first = static_cast<size_t>(elements.begin) * element;
  const size_t bytes = static_cast<size_t>(elements.count()) * element;
  std::byte* const to = static_cast<std::byte*>(piece.param->data) + first;
  const std::byte* const from = static_cast<const std::byte*>(buckets_[weights].data) + piece.place + first;
  copy_in(to, from, bytes);
}

void CarryingSum::copy_in(void* to, const void* from, size_t bytes) {
  if (stream_) {
    net_.stream().copy_to_device(to, from, bytes);
  } else {
    copy_on_host(to, from, bytes);
  }
}

void CarryingSum::has_put(BucketId weights) {
  for (const Piece& piece : pieces_[weights]) {
    net_.stream().run([param = piece.param] { ++param->version; });  // in the order of the stream, as kernels read it
  }
}

}  // namespace robusta
