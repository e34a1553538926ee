/// Choosing by trying: every algorithm of every dimension over several sizes, and whole grids against each other.
///
/// All ranks decide the same, from the times of the slowest. Decisions are kept in a file per set of hosts: measured
/// choices change the order of sums, and the same choices give the same bits.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/reduce/choice_cache.h"
#include "comm/reduce/sized_stage.h"
#include "comm/reduce/tier.h"

namespace robusta {

/// Seconds that `work` takes the slowest rank: the best of a few calls, fewer where they are slow. Collective.
double measure(Communicator& world, const std::function<void()>& work);

/// The best algorithm of a tier for each size. Adds to `notes` a table of what was measured.
std::shared_ptr<Stage> explore_tier(Communicator& world, const Tier& tier, const Span& scratch, ChoiceCache& cache,
                                    std::vector<std::string>& notes);

}  // namespace robusta
