/// The channels of a row in pieces that vector registers hold.
#pragma once

#include <cstdint>
#include <type_traits>

namespace robusta {

/// GCC 12 computes vectors wider than the registers lane by lane, where one is chosen over another.
inline int widest_pool_lanes() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const int lanes = __builtin_cpu_supports("avx512f") ? 16 : 8;
  return lanes;
#else
  return 16;
#endif
}

/// Calls body(lanes, offset) for pieces of 16 (where registers are as wide), 8, 4 and 1 lanes that make up `inner`.
template <typename Body>
void for_pool_lanes(int64_t inner, const Body& body) {
  int64_t at = 0;
  if (widest_pool_lanes() == 16) {
    for (; at + 16 <= inner; at += 16) body(std::integral_constant<int, 16>{}, at);
  }
  for (; at + 8 <= inner; at += 8) body(std::integral_constant<int, 8>{}, at);
  for (; at + 4 <= inner; at += 4) body(std::integral_constant<int, 4>{}, at);
  for (; at < inner; ++at) body(std::integral_constant<int, 1>{}, at);
}

}  // namespace robusta
