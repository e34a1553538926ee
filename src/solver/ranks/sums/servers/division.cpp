// Shares differ by one element at most.
#include "solver/ranks/sums/servers/division.h"

#include <algorithm>

namespace robusta {

Division::Division(const Buckets& gradients, int servers) : servers_(servers) {
  for (const Bucket& bucket : gradients) {
    begins_.push_back(elements_);
    counts_.push_back(bucket.count);
    elements_ += bucket.count;
  }
}

ElementRange Division::share(int server) const {
  const int64_t each = elements_ / servers_, more = elements_ % servers_;
  const auto first = [&](int64_t s) { return s * each + std::min(s, more); };
  return {first(server), first(server + 1)};
}

ElementRange Division::part(BucketId bucket, int server) const {
  return share(server).within({begins_[bucket], begins_[bucket] + counts_[bucket]});
}

}  // namespace robusta
