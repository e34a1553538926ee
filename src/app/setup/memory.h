/// What -gpu_memory, -lms, -lms_frac and -link_gbs say about the memory of nets.
#pragma once

#include "app/flags/options.h"
#include "device/device.h"
#include "net/memory_options.h"
#include "solver/ranks/ranks.h"

namespace robusta {

/// For all nets on `device` together, from what is free there now. On the CPU: what control groups and `ulimit -v`
/// leave, if they limit it; nothing is moved, and a line says so where something was asked for. `processes`: of this
/// host that take memory of the host at the same time. Throws Error{kUsage} for values that make no sense.
MemoryOptions memory_options(const Options& options, Device& device, int processes);

/// The ranks of this one's host, itself among them.
int processes_of_host(const Ranks& ranks);

}  // namespace robusta
