/// The processors of a host, dealt out to its ranks.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// What one rank may use. Fixed in size, to be gathered over ranks.
struct Cores {
  static constexpr int kMost = 1024;
  unsigned long long bits[kMost / 64] = {};

  bool has(int cpu) const { return (bits[cpu / 64] >> (cpu % 64)) & 1; }
  void add(int cpu) { bits[cpu / 64] |= 1ull << (cpu % 64); }
  int count() const;
  bool operator==(const Cores&) const = default;
  /// "0-3,8"
  std::string str() const;
};

/// Those this process may run on; none when they cannot be told.
Cores own_cores();

/// The part of `cores` for the `position`th of `sharers` ranks that were all given the same: adjacent ones, as even as
/// can be. With more ranks than processors, some share one.
Cores share_of(const Cores& cores, int position, int sharers);

/// From now on this thread, and those it starts, run there.
void pin_to(const Cores& cores);

/// Starts OpenMP's threads, each on a processor of its own, where there are as many as processors and nobody has bound
/// them; they may move later. The kernel may begin with two of them on one processor, and looks again only after tens
/// of milliseconds, which is as long as a small training needs to begin. Returns the processor of each; nothing where
/// none was moved.
std::vector<int> spread_threads();

}  // namespace robusta
