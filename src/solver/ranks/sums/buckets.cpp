// Gradients lie in memory in the order in which backward completes them, so a bucket is a range of addresses and a sum
// needs no copy.
#include "solver/ranks/sums/buckets.h"

#include <algorithm>
#include <cassert>
#include "base/hash.h"
#include "base/str.h"

namespace robusta {
namespace {

size_t bytes_between(const void* begin, const void* end) {
  assert(begin <= end);
  return static_cast<size_t>(static_cast<const char*>(end) - static_cast<const char*>(begin));
}

}  // namespace

Buckets plan_buckets(const std::vector<Param*>& params, size_t bytes, void* tail_data, int64_t tail,
                     const std::function<bool(const Param&)>& is_compressed) {
  if (params.empty()) return {{tail_data, tail, tail, tail, {}}};
  const size_t element = size_of(params[0]->desc.dtype);
  Buckets buckets;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool full = !buckets.empty() && static_cast<size_t>(buckets.back().count) * element >= bytes;
    const bool changes = i > 0 && is_compressed(*params[i]) != is_compressed(*params[i - 1]);
    if (buckets.empty() || full || changes) buckets.push_back({params[i]->diff, 0, 0, 0, {}});
    Bucket& bucket = buckets.back();
    bucket.params.push_back(params[i]);
    const void* end = i + 1 < params.size() ? params[i + 1]->diff : tail_data;
    bucket.count = static_cast<int64_t>(bytes_between(bucket.data, end) / element);
  }
  buckets.back().count += tail;
  buckets.back().tail = tail;
  for (Bucket& bucket : buckets) bucket.exact = is_compressed(*bucket.params[0]) ? bucket.tail : bucket.count;
  return buckets;
}

size_t largest_bytes(const Buckets& buckets, DType type) {
  int64_t most = 0;
  for (const Bucket& bucket : buckets) most = std::max(most, bucket.count);
  return static_cast<size_t>(most) * size_of(type);
}

std::span<std::byte> tail_of(const Bucket& bucket, DType type) {
  auto* const elements = static_cast<std::byte*>(bucket.data);
  return {elements + static_cast<size_t>(bucket.count - bucket.tail) * size_of(type),
          static_cast<size_t>(bucket.tail) * size_of(type)};
}

Bucket take_tail(Buckets& buckets, DType type) {
  Bucket& last = buckets.back();
  const Bucket tail{tail_of(last, type).data(), last.tail, last.tail, last.tail, {}};
  last.count -= tail.count;
  last.exact = std::max<int64_t>(last.exact - tail.count, 0);
  last.tail = 0;
  return tail;
}

uint64_t hash_of(const Buckets& buckets) {
  std::string text;
  for (const Bucket& bucket : buckets) {
    text += str("bucket ", bucket.count, ' ', bucket.exact, '\n');
    for (const Param* param : bucket.params) text += str(param->layer, ' ', param->desc.shape.str(), '\n');
  }
  return hash_bytes(text);
}

}  // namespace robusta
