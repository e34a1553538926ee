/// How much memory this process may still take.
#pragma once

#include <cstddef>
#include <string>

namespace robusta {

/// Bytes: the least of what Linux calls available, what the control groups leave, and what `ulimit -v` does.
size_t available_host_memory();

/// What `ulimit -v` leaves; the largest number without a limit.
size_t address_space_leaves();

/// What the control group of this process (v2 or v1) and all groups above it leave: those of a batch job, of a
/// container, of a service. Files that are kept in memory count as free, since the kernel gives them up first. The
/// largest number without a limit. `system` stands before all paths: a test's picture of /proc and /sys.
size_t control_groups_leave(const std::string& system = "");

}  // namespace robusta
