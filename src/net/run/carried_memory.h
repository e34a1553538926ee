/// What layers carry from one forward pass to the next (Layer::carried), in the device's memory.
///
/// Each net has its own, those that share parameters or an arena, too. It is zero at first, outlives the plans and is
/// part of no snapshot. With other input shapes an array keeps its numbers from the first on as far as its memory goes,
/// and begins again at zero where it needs more.
#pragma once

#include <vector>

#include "device/device.h"
#include "net/graph/graph.h"
#include "net/options.h"

namespace robusta {

class CarriedMemory {
 public:
  /// Gives every layer of the graph what its present shapes ask for. Throws Error{kMemory}.
  /// REQUIRES: the same layers each time; what is enqueued has run.
  void take(Graph& graph, const NetOptions& options, Stream& stream);

 private:
  std::vector<DeviceBuffer> arrays_;  ///< of all layers in order
};

}  // namespace robusta
