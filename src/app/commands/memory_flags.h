/// What -gpu_memory, -lms, -lms_frac and -link_gbs say about the memory of nets.
#pragma once

#include "device/device.h"
#include "net/memory_options.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// For all nets on `device` together, from what is free there now. On the CPU: no limit and nothing moved, and a line
/// says so where something was asked for. `processes`: of this host that take memory of the host at the same time.
/// Throws Error{kUsage} for values that make no sense.
MemoryOptions memory_options_from_flags(Device& device, int processes);

/// The ranks of this one's host, itself among them.
int processes_of_host(const Ranks& ranks);

/// The value of a flag that holds a size, 0 when it is empty. Throws Error{kUsage} for what is no size.
size_t size_flag(const std::string& flag, const std::string& value);

}  // namespace robusta
