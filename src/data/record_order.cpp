// Positions to records: a shift for the whole run, then the order of the epoch.

#include "data/record_order.h"

#include "base/philox.h"
#include "data/sampler.h"

namespace robusta {

int64_t EpochOrder::index(const BatchPlan& plan, int64_t place) const {
  const Sampler sampler(count_, settings_.shuffle, random_key(plan.seed, settings_.layer, "shuffle"));
  uint64_t skipped = 0;
  if (settings_.skip_below > 0) {
    skipped = philox(random_key(plan.seed, settings_.layer, "skip"), 0, 0)[0] % settings_.skip_below;
  }
  return sampler.index(plan.first + static_cast<uint64_t>(place) + skipped);
}

}  // namespace robusta
