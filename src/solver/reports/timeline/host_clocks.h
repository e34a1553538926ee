/// How the clocks of hosts differ, so that what ranks saw can be shown on one axis.
#pragma once

#include <cstdint>
#include <functional>

#include "solver/ranks/ranks.h"

namespace robusta {

/// What `now` of rank 0 shows less what that of this rank shows, in nanoseconds. Collective. Ranks of one host share a
/// clock, so one of each host answers rank 0; of several answers the quickest counts (F. Cristian, "Probabilistic clock
/// synchronization", 1989): the error is at most half its round trip.
int64_t clock_offset(Ranks& ranks, const std::function<int64_t()>& now);

/// An offset that changes evenly from one measurement to another: clocks drift by some microseconds per second.
struct ClockLine {
  int64_t first_at = 0, first = 0;  ///< local time of the measurement and what it gave
  int64_t last_at = 0, last = 0;

  /// A local time as the time of rank 0.
  int64_t to_root(int64_t local) const {
    if (last_at <= first_at) return local + first;
    const double share = static_cast<double>(local - first_at) / static_cast<double>(last_at - first_at);
    return local + first + static_cast<int64_t>(share * static_cast<double>(last - first));
  }
};

}  // namespace robusta
