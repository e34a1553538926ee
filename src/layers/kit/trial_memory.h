/// Memory for trying several ways to compute the same.
#pragma once

#include <cstddef>
#include <exception>

#include "device/cpu/host_memory.h"

namespace robusta {

/// There is none.
struct NoRoomForTrial : std::exception {
  const char* what() const noexcept override { return "there is no memory to time kernels in"; }
};

/// Tensors of all trials that run at once may take half of what is available: a net whose values take more, with
/// gradients as large, is refused before it runs, and so must not take memory for timing. For a few megabytes nobody
/// asks the system: it answers in tenths of a millisecond, and small nets are to begin at once. Throws NoRoomForTrial.
inline void require_room_for_trial(size_t bytes) {
  constexpr size_t kWorthAsking = size_t{16} << 20;
  if (bytes >= kWorthAsking && 2 * bytes > available_host_memory()) throw NoRoomForTrial();
}

/// What `choose` picks, whose first trial requires room: 0, and nothing is recorded, where there is none. What was
/// chosen before needs no trial, so that a run which is resumed with less memory computes the same bits.
template <typename Choose>
int chosen_or_first(const Choose& choose) {
  try {
    return choose();
  } catch (const NoRoomForTrial&) {
    return 0;
  }
}

}  // namespace robusta
