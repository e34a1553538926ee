/// How much memory this process may still take.
#pragma once

#include <cstddef>

namespace robusta {

/// Bytes: the least of what Linux calls available and what the control group (v2 or v1) leaves.
size_t available_host_memory();

}  // namespace robusta
