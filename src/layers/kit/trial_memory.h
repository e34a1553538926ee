/// Memory for trying several ways to compute the same.
#pragma once

#include <cstddef>

#include "device/cpu/host_memory.h"

namespace robusta {

/// Tensors of all trials that run at once may take half of what is available: a net whose values take more, with
/// gradients as large, is refused before it runs, and so must not take memory for timing. For a few megabytes nobody
/// asks the system: it answers in tenths of a millisecond, and small nets are to begin at once.
inline bool has_room_for_trial(size_t bytes) {
  constexpr size_t kWorthAsking = size_t{16} << 20;
  return bytes < kWorthAsking || 2 * bytes <= available_host_memory();
}

}  // namespace robusta
