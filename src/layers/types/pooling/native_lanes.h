/// The channels of a row in pieces that vector registers hold.
#pragma once

#include <cstdint>
#include <type_traits>

namespace robusta {

/// Calls body(lanes, offset) for pieces of 16, 8, 4 and 1 lanes that make up `inner`.
template <typename Body>
void for_pool_lanes(int64_t inner, const Body& body) {
  int64_t at = 0;
  for (; at + 16 <= inner; at += 16) body(std::integral_constant<int, 16>{}, at);
  for (; at + 8 <= inner; at += 8) body(std::integral_constant<int, 8>{}, at);
  for (; at + 4 <= inner; at += 4) body(std::integral_constant<int, 4>{}, at);
  for (; at < inner; ++at) body(std::integral_constant<int, 1>{}, at);
}

}  // namespace robusta
