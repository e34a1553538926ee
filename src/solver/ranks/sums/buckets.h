/// Buckets: the gradients in the order backward completes them, cut into ranges that are reduced in one go.
///
/// A small bucket starts early and pays the latency of a message more often, a large one uses the links better (Li et
/// al. 2020, "PyTorch Distributed", 3.2.3). The table is a pure function of the net and of the size asked for, hence
/// the same on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/element_range.h"
#include "base/id.h"
#include "layers/kit/param.h"

namespace robusta {

struct Bucket {
  void* data = nullptr;        ///< where its gradients begin
  int64_t count = 0;           ///< elements, with the gaps that align parameters
  int64_t tail = 0;            ///< the last of them, which are no gradients
  int64_t exact = 0;           ///< the last of them, which keep all bits on their way: the tail, or all
  std::vector<Param*> params;  ///< in the order of memory, which is that of backward
};

/// Buckets are summed in the order of their ids.
using BucketId = Id<struct BucketTag>;
using Buckets = IdVector<BucketId, Bucket>;

/// What decides over buckets beside sizes.
struct BucketRules {
  std::function<bool(const Param&)> is_compressed = [](const Param&) { return true; };
  /// Elements of a parameter that are a bucket by themselves, without the others; nullopt: it shares one as a whole.
  std::function<std::optional<ElementRange>(const Param&)> part = [](const Param&) { return std::nullopt; };
};

/// Closes a bucket when it holds `bytes` or more, between gradients that are compressed and others, and around parts.
/// `params`: in the order of completion, their gradients one after the other in memory, but for parts, which lie
/// anywhere. The last bucket is followed by
/// `tail` elements, which are reduced with it; without parameters, or behind a part, it holds them alone, at
/// `tail_data`.
Buckets plan_buckets(const std::vector<Param*>& params, size_t bytes, void* tail_data, int64_t tail,
                     const BucketRules& rules = {});

/// Bytes of the largest one.
size_t largest_bytes(const Buckets& buckets, DType type);
/// The memory of its tail.
std::span<std::byte> tail_of(const Bucket& bucket, DType type);

/// Makes it a bucket of its own.
Bucket take_tail(Buckets& buckets, DType type);

/// Of the names and sizes of all buckets, to be compared over ranks.
uint64_t hash_of(const Buckets& buckets);

}  // namespace robusta
