/// Loops over arrays in blocks small enough that several passes over one stay in the first-level cache.
#pragma once

#include <algorithm>

#include "layers/kit/elementwise.h"

namespace robusta {

inline constexpr int64_t kBlockElements = 2048;  ///< 8 KB as f32: a few arrays at once fit the first-level cache

/// body(begin, count) for consecutive blocks of 0..count, over all threads. `body` must not throw.
template <typename Body>
void parallel_blocks(int64_t count, const Body& body) {
  parallel_ranges(count, kElementwiseGrain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlockElements) body(at, std::min(kBlockElements, end - at));
  });
}

}  // namespace robusta
