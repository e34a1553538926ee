/// Nets under a memory budget, for tests of large model support.
#pragma once

#include <string>

#include "net/net.h"

namespace robusta::test {

/// The training net of a folder of models/, with made-up data.
NetDef model_def(const std::string& model);

/// Options for a device, nothing moved. `batch` > 0: samples.
NetOptions resident_options(Device& device, int64_t batch = 0);

/// The same with -lms auto and a budget that leaves, beside parameters and persistent values, an arena of this share of
/// that of `resident`. A share of 0 asks for the least: the plan then does not fit.
NetOptions with_budget(NetOptions options, const Net& resident, double share);

/// What the net takes beside its arena.
size_t fixed_memory(const Net& net);

}  // namespace robusta::test
