/// How many messages this process has received or sent off: over a slow link a training thread stands still for long,
/// and each one that is done is a sign that it will go on.
#pragma once

#include <atomic>
#include <cstdint>

namespace robusta {

/// Of all channels of the process. Any thread may count and read.
inline std::atomic<uint64_t>& arrivals() {
  static std::atomic<uint64_t> count{0};
  return count;
}

}  // namespace robusta
