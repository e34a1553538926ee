/// Stores that pass by the caches (non-temporal stores), for results that none of them would hold until they are read:
/// a common store first brings a line into the caches, and with it from memory what it then replaces.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/// Writes a vector past the caches, to memory that is aligned for it. finish_streams() comes behind the last one.
#if defined(__clang__)
#define ROBUSTA_STREAM(lanes, place) __builtin_nontemporal_store(lanes, &(place))
#elif defined(__x86_64__)
#define ROBUSTA_STREAM(lanes, place) asm("vmovntps %1, %0" : "=m"(place) : "v"(lanes))
#else
#define ROBUSTA_STREAM(lanes, place) (place) = lanes
#endif

namespace robusta {

/// What a thread has written past the caches can be seen by the threads that come next.
inline void finish_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// True for a matrix of so many bytes that little of it would be in a cache any more when it is read, if its rows are
/// aligned for vectors. Written past the caches, it need not be read for what it replaces.
inline bool goes_past_caches(const float* matrix, int64_t rows, int64_t columns) {
  constexpr int64_t kBytes = int64_t{32} << 20, kLine = 64;
  const auto floats = static_cast<int64_t>(sizeof(float));
  return rows * columns * floats >= kBytes && columns * floats % kLine == 0 &&
         reinterpret_cast<uintptr_t>(matrix) % kLine == 0;
}

}  // namespace robusta
