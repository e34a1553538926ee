// An address in this rank's region names the same place in a peer's: regions have one size, so the distance from the
// beginning is all that has to be known.

#include "comm/reduce/shared_regions.h"

#include <algorithm>
#include <cassert>

namespace robusta {

SharedRegions::SharedRegions(Communicator& world, std::shared_ptr<SharedMemory> arena, size_t staging_bytes)
    : regions_{std::move(arena), world.allocate(staging_bytes)} {}

bool SharedRegions::reaches(const std::vector<int>& ranks) const {
  return std::all_of(regions_.begin(), regions_.end(), [&](const auto& region) {
    return !region || std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return region->peer(rank) != nullptr; });
  });
}

std::byte* SharedRegions::counterpart(const std::byte* data, int rank) const {
  const SharedMemory* region = region_of(data, 0);
  assert(region && region->peer(rank));
  return static_cast<std::byte*>(region->peer(rank)) + (data - static_cast<const std::byte*>(region->data()));
}

const SharedMemory* SharedRegions::region_of(const std::byte* data, size_t bytes) const {
  for (const auto& region : regions_) {
    if (!region) continue;
    const auto* begin = static_cast<const std::byte*>(region->data());
    if (data >= begin && data + bytes <= begin + region->bytes()) return region.get();
  }
  return nullptr;
}

}  // namespace robusta
