/// Where values with known lifetimes lie in one arena: a pure function.
///
/// The steps of a pass are numbered, so the first and the last use of every value are known before anything runs
/// (static memory planning as in Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
#pragma once

#include <cstddef>
#include <vector>

#include "memory/ids.h"

namespace robusta {

/// A value that occupies `bytes` from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;  ///< 0: it needs no place
  StepId first{0}, last{0};
};

struct Placement {
  std::vector<size_t> offsets;  ///< one per value, multiples of kMemoryAlignment
  size_t bytes = 0;             ///< size of the arena
};

/// A cache line, and an AVX-512 register.
constexpr size_t kMemoryAlignment = 64;

/// Values whose lifetimes meet never overlap. Deterministic. O(n^2 log n) in the number of values.
Placement place(const std::vector<Lifetime>& values);

/// The same values side by side: what the arena costs without sharing.
Placement place_apart(const std::vector<Lifetime>& values);

constexpr size_t align_up(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

}  // namespace robusta
