/// Where the stages of a net are trained, and in which order they work.
#pragma once

#include <vector>

#include "device/device.h"
#include "net/memory_options.h"
#include "solver/pipeline/schedule.h"

namespace robusta {

/// A device with what nets may take of it.
struct StageDevice {
  Device* device = nullptr;
  MemoryOptions memory = {};
};

struct PipelineOptions {
  std::vector<StageDevice> stages = {};  ///< devices of this process; none: ranks have the stages, or there are none
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
};

}  // namespace robusta
