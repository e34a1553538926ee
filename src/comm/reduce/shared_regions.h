/// The memory that ranks of a host see of each other: the arena that was handed in, and a window for data beside it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/reduce/stage.h"

namespace robusta {

class SharedRegions {
 public:
  /// Collective. `arena` may be null.
  SharedRegions(Communicator& world, std::shared_ptr<SharedMemory> arena, size_t staging_bytes);

  /// All these ranks lie on this one's host and can see each other's memory.
  bool reaches(const std::vector<int>& ranks) const;
  bool holds(const Span& span) const { return region_of(span.data, span.bytes()) != nullptr; }
  /// Where rank `rank` keeps what this rank keeps at `data`. REQUIRES: holds it.
  std::byte* counterpart(const std::byte* data, int rank) const;
  SharedMemory& staging() const { return *regions_[1]; }

 private:
  const SharedMemory* region_of(const std::byte* data, size_t bytes) const;

  std::array<std::shared_ptr<SharedMemory>, 2> regions_;  ///< the arena, and the staging memory
};

}  // namespace robusta
