/// Which elements of the parameters each server holds: equal shares of all gradients, in the order of their memory, so
/// that a large layer lies on several servers and small ones together on one (Li et al. 2014, "Scaling Distributed
/// Machine Learning with the Parameter Server", section 4.3). A pure function of the table of buckets, hence the same
/// on every rank.
#pragma once

#include <cstdint>

#include "base/element_range.h"
#include "solver/ranks/sums/buckets.h"

namespace robusta {

class Division {
 public:
  Division(const Buckets& gradients, int servers);

  int servers() const { return servers_; }
  /// Of all elements, counted over the buckets.
  ElementRange share(int server) const;
  /// Where the elements of a bucket begin in that count.
  int64_t begin(BucketId bucket) const { return begins_[bucket]; }
  /// Of the bucket's elements those that the server holds, maybe none.
  ElementRange part(BucketId bucket, int server) const;

 private:
  int servers_;
  int64_t elements_ = 0;
  IdVector<BucketId, int64_t> begins_, counts_;
};

}  // namespace robusta
