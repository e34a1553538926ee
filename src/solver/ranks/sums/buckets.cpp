// Gradients lie in memory in the order in which backward completes them, so a bucket is a range of addresses and a sum
// needs no copy.
#include "solver/ranks/sums/buckets.h"

#include <algorithm>
#include <cassert>

#include "base/hash.h"
#include "base/str.h"
#include "memory/placement.h"

namespace robusta {
namespace {

size_t bytes_between(const void* begin, const void* end) {
  assert(begin <= end);
  return static_cast<size_t>(static_cast<const char*>(end) - static_cast<const char*>(begin));
}

/// Behind the gradient and what aligns the next one.
void* end_of(const Param& param) { return static_cast<std::byte*>(param.diff) + align_up(param.desc.bytes()); }

/// It keeps all bits.
Bucket bucket_of_part(Param& param, ElementRange part) {
  auto* const begin = static_cast<std::byte*>(param.diff) + static_cast<size_t>(part.begin) * size_of(param.desc.dtype);
  return {begin, part.count(), 0, part.count(), {&param}};
}

}  // namespace

std::vector<size_t> bucket_ends(const std::vector<Param*>& params, size_t bytes, const BucketRules& rules) {
  std::vector<size_t> ends;
  size_t held = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    held += align_up(params[i]->desc.bytes());
    const bool last = i + 1 == params.size(), apart = rules.part(*params[i]) || (!last && rules.part(*params[i + 1]));
    const bool changes = !last && rules.is_compressed(*params[i]) != rules.is_compressed(*params[i + 1]);
    if (!last && !apart && !changes && held < bytes) continue;
    ends.push_back(i + 1);
    held = 0;
  }
  return ends;
}

Buckets plan_buckets(const std::vector<Param*>& params, size_t bytes, void* tail_data, int64_t tail,
                     const BucketRules& rules) {
  Buckets buckets;
  const void* end = nullptr;  // of the memory of the last one
  size_t begin = 0;
  for (const size_t next : bucket_ends(params, bytes, rules)) {
    Param &first = *params[begin], &last = *params[next - 1];
    if (const auto part = rules.part(first)) {
      buckets.push_back(bucket_of_part(first, *part));
      end = nullptr;
    } else {
      Bucket& bucket = buckets[buckets.push_back({.data = first.diff, .params = {}})];
      bucket.params.assign(params.begin() + static_cast<std::ptrdiff_t>(begin),
                           params.begin() + static_cast<std::ptrdiff_t>(next));
      bucket.count = static_cast<int64_t>(bytes_between(first.diff, end_of(last)) / size_of(first.desc.dtype));
      bucket.exact = rules.is_compressed(first) ? 0 : bucket.count;
      end = end_of(last);
    }
    begin = next;
  }
  if (!end || end != tail_data) buckets.push_back({.data = tail_data, .params = {}});
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
  if (last.count == 0 && buckets.size() > 1) {
    buckets.pop_back();
    return tail;
  }
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
