#include "comm/all_reduce.h"

#include <algorithm>
#include <map>

#include "base/str.h"
#include "comm/dims.h"
#include "comm/reduce/direct_stage.h"
#include "comm/reduce/layered.h"
#include "comm/reduce/library.h"
#include "comm/reduce/ring_stage.h"

namespace robusta {
namespace {

/// All ranks in one ring, those of a host side by side: then only two of them send over the network.
Dimension whole_ring(const Communicator& world, const Topology& topology) {
  std::map<std::string, int> first;
  for (int rank = 0; rank < world.size(); ++rank) first.try_emplace(topology.hosts[static_cast<size_t>(rank)], rank);
  Dimension all{"all", {}, 0, first.size() == 1};
  for (int rank = 0; rank < world.size(); ++rank) all.ranks.push_back(rank);
  const auto host_of = [&](int rank) { return first.at(topology.hosts[static_cast<size_t>(rank)]); };
  std::stable_sort(all.ranks.begin(), all.ranks.end(), [&](int a, int b) { return host_of(a) < host_of(b); });
  all.position = static_cast<int>(std::find(all.ranks.begin(), all.ranks.end(), world.rank()) - all.ranks.begin());
  return all;
}

Layer make_ring(Communicator& world, const Dimension& dimension, const DdlOptions& options) {
  const Group group{dimension.ranks, dimension.position};
  const std::string where = dimension.one_host ? "within a host" : "between hosts";
  const Compression compress = dimension.one_host ? Compression::kNone : options.compress;
  return {str(dimension.name, " (", group.size(), " ranks, ", where, ")"), group.size(), group.position,
          std::make_unique<RingStage>(world, group, compress)};
}

}  // namespace

std::unique_ptr<AllReduce> make_all_reduce(Communicator& world, const Topology& topology, const DdlOptions& options,
                                           std::shared_ptr<SharedMemory> memory, size_t largest_bytes) {
  if (options.mode == 'm') return make_library_all_reduce(world);
  std::vector<Layer> layers;
  if (world.size() > 1) layers.push_back(make_ring(world, whole_ring(world, topology), options));
  return std::make_unique<LayeredAllReduce>(std::move(layers), str(world.size()));
}

}  // namespace robusta
