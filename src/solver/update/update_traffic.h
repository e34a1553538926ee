/// What an update launches and moves on a GPU that is described.
#pragma once

#include "net/traffic/traffic_counter.h"
#include "schema/source.h"

namespace robusta {

class Net;

/// Of all parameters that learn, together, as one rank updates them; without clipping, averages and rates by norms.
TrafficCounter::Counted count_update(const Net& net, const SolverDef& solver, TrafficCounter& counter);

}  // namespace robusta
