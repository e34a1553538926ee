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

/// It keeps all bits.
Bucket bucket_of_part(Param& param, ElementRange part) {
  auto* const begin = static_cast<std::byte*>(param.diff) + static_cast<size_t>(part.begin) * size_of(param.desc.dtype);
  return {begin, part.count(), 0, part.count(), {&param}};
}

/// Where the gradients end that lie in a row with that of parameter `i`: where those of the next one begin that is no
/// bucket by itself, or the tail.
const void* end_of(const std::vector<Param*>& params, size_t i, const void* tail_data, const BucketRules& rules) {
  for (++i; i < params.size(); ++i) {
    if (!rules.part(*params[i])) return params[i]->diff;
  }
  return tail_data;
}

}  // namespace

Buckets plan_buckets(const std::vector<Param*>& params, size_t bytes, void* tail_data, int64_t tail,
                     const BucketRules& rules) {
  Buckets buckets;
  bool open = false;  // the last one takes more
  for (size_t i = 0; i < params.size(); ++i) {
    Param& param = *params[i];
    const size_t element = size_of(param.desc.dtype);
    if (const auto part = rules.part(param)) {
      buckets.push_back(bucket_of_part(param, *part));
      open = false;
      continue;
    }
    const bool full = open && static_cast<size_t>(buckets.back().count) * element >= bytes;
    const bool changes = open && rules.is_compressed(param) != rules.is_compressed(*params[i - 1]);
    if (!open || full || changes) buckets.push_back({param.diff, 0, 0, 0, {}});
    open = true;
    Bucket& bucket = buckets.back();
    bucket.params.push_back(&param);
    const void* const end = end_of(params, i, tail_data, rules);
    bucket.count = static_cast<int64_t>(bytes_between(bucket.data, end) / element);
    bucket.exact = rules.is_compressed(param) ? 0 : bucket.count;
  }
  if (!open) buckets.push_back({tail_data, 0, 0, 0, {}});
  Bucket& last = buckets.back();
  last.count += tail;
  last.exact += tail;
  last.tail = tail;
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
