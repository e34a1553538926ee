/// What the steps of a planned net launch and move in an iteration, and how long a GPU that is described would take.
#pragma once

#include <ostream>
#include <vector>

#include "net/net.h"
#include "net/traffic/traffic_counter.h"

namespace robusta {

struct PlanTraffic {
  using Counted = TrafficCounter::Counted;
  struct OfUnit {
    Counted forward, backward;
    bool by_host = false;  ///< the layer's work is the host's: not counted
  };
  IdVector<UnitId, OfUnit> units;
  Counted packing, unpacking;  ///< of parameters, before forward; of gradients, behind backward (run/packing.h)
  Counted preparing;           ///< no part of an iteration: what is made of parameters only when these have changed
  Counted update;
};

/// Counts forward and backward, without what large model support copies. A batch is taken to be on the GPU.
/// REQUIRES: the net was planned for a device that only counts. Its parameters have no memory, then or before.
PlanTraffic count_passes(Net& net, TrafficCounter& counter);

/// A line per unit, a table by what units are made of, and the sums.
void print_traffic(std::ostream& out, const Net& net, const GpuRates& gpu, const PlanTraffic& traffic);

}  // namespace robusta
