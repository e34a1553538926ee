// Which algorithms a group can use follows from where its ranks lie: shared memory within a host, ring and direct
// exchange anywhere.

#include "comm/reduce/builder.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/str.h"
#include "comm/dims.h"
#include "comm/page_block.h"
#include "comm/reduce/direct_stage.h"
#include "comm/reduce/explore.h"
#include "comm/reduce/ring_stage.h"
#include "comm/reduce/shared_stage.h"
#include "comm/reduce/sized_stage.h"

namespace robusta {
namespace {

/// Below this the ring's 2(n-1) hops cost more than its even use of the links gives.
constexpr size_t kDirectBytes = size_t{64} << 10;
/// Data beside the arena is reduced in pieces of this size.
constexpr size_t kStaging = size_t{4} << 20;

/// All ranks, those of a host side by side: then only two of them send over the network.
Dimension all_ranks(const Communicator& world, const Topology& topology) {
  std::map<std::string, int> first;
  for (int rank = 0; rank < world.size(); ++rank) first.try_emplace(topology.host_of(rank), rank);
  Dimension all{"all", {}, 0, first.size() == 1};
  for (int rank = 0; rank < world.size(); ++rank) all.ranks.push_back(rank);
  const auto host_of = [&](int rank) { return first.at(topology.host_of(rank)); };
  std::stable_sort(all.ranks.begin(), all.ranks.end(), [&](int a, int b) { return host_of(a) < host_of(b); });
  all.position = static_cast<int>(std::find(all.ranks.begin(), all.ranks.end(), world.rank()) - all.ranks.begin());
  return all;
}

std::string title(const Dimension& dimension) {
  return str(dimension.name, " (", dimension.ranks.size(), " ranks, ",
             dimension.one_host ? "within a host" : "between hosts", ")");
}

size_t count_hosts(const Topology& topology) {
  return std::set<std::string>(topology.hosts.begin(), topology.hosts.end()).size();
}

/// What a fixed rule gives a dimension.
std::shared_ptr<Stage> usual_stage(const Tier& tier) {
  if (tier.stages[Tier::kShared]) return tier.stages[Tier::kShared];
  if (!tier.stages[Tier::kRing]) return tier.stages[Tier::kDirect];
  return std::make_shared<SizedStage>(
      std::vector<SizedStage::Choice>{{kDirectBytes, tier.stages[Tier::kDirect]}, {0, tier.stages[Tier::kRing]}});
}

ReduceLayer layer_of(const Tier& tier, std::shared_ptr<Stage> stage) {
  return {tier.name, tier.group.size(), tier.group.position, std::move(stage), tier.innermost};
}

}  // namespace

ReduceBuilder::ReduceBuilder(Communicator& world, const Topology& topology, const DdlOptions& options,
                             std::shared_ptr<SharedMemory> arena, size_t largest_bytes)
    : world_(world),
      topology_(topology),
      options_(options),
      largest_bytes_(largest_bytes),
      crowded_(topology.local_ranks > sysconf(_SC_NPROCESSORS_ONLN)),
      arena_(std::move(arena)),
      // Decided from what all ranks know: they have to allocate together, and to cut data in the same places.
      has_neighbours_(count_hosts(topology) < topology.hosts.size()) {}

size_t ReduceBuilder::staging_bytes() const { return std::clamp<size_t>(largest_bytes_, kPage, kStaging); }

void ReduceBuilder::share_memory() {
  if (has_neighbours_ && !regions_) regions_ = std::make_shared<SharedRegions>(world_, arena_, staging_bytes());
}

Span ReduceBuilder::scratch() {
  share_memory();
  const size_t bytes = staging_bytes();
  if (!regions_ && !trials_) trials_ = allocate_pages(bytes);
  std::byte* data = regions_ ? static_cast<std::byte*>(regions_->staging().data()) : trials_.get();
  return {data, static_cast<int64_t>(bytes / sizeof(float)), DType::kF32};
}

std::vector<std::shared_ptr<Stage>> ReduceBuilder::stages_of(const Dimension& dimension,
                                                             std::shared_ptr<SharedMemory> board) {
  const Group group{dimension.ranks, dimension.position};
  const WireFormat wire = dimension.one_host ? WireFormat() : options_.wire;
  const bool shares = board && regions_->reaches(group.ranks);
  // Around a ring partial sums would be rounded at every step, and what is left of one cannot be given back.
  const bool rings = !wire.keeps_left();
  return {
      shares ? std::make_shared<SharedStage>(world_, group, regions_, std::move(board), crowded_) : nullptr,
      std::make_shared<DirectStage>(world_, group, wire, arena_),
      rings ? std::make_shared<RingStage>(world_, group, wire) : nullptr,
  };
}

std::vector<Tier> ReduceBuilder::tiers_of(const Topology& topology) {
  share_memory();
  std::vector<Tier> tiers;
  for (const Dimension& dimension : topology.dimensions) {
    std::shared_ptr<SharedMemory> board = regions_ ? world_.allocate(SharedBarrier::kBytes) : nullptr;
    tiers.push_back({title(dimension),
                     dimension.name == "X",
                     {dimension.ranks, dimension.position},
                     stages_of(dimension, std::move(board))});
  }
  return tiers;
}

std::unique_ptr<AllReduce> ReduceBuilder::assemble(const Topology& topology, const std::vector<Tier>& tiers,
                                                   std::vector<std::shared_ptr<Stage>> chosen,
                                                   std::vector<std::string> notes) {
  std::vector<ReduceLayer> layers;
  for (size_t i = 0; i < tiers.size(); ++i) layers.push_back(layer_of(tiers[i], std::move(chosen[i])));
  const std::string shape = str("reduce-scatter and all-gather over ", dims_text(topology.dims), " ranks");
  return std::make_unique<LayeredAllReduce>(std::move(layers), shape, regions_, std::move(notes));
}

std::unique_ptr<AllReduce> ReduceBuilder::ring(std::vector<std::string> notes) {
  std::vector<ReduceLayer> layers;
  if (world_.size() > 1) {
    const Dimension all = all_ranks(world_, topology_);
    const Group group{all.ranks, all.position};
    const WireFormat wire = all.one_host ? WireFormat() : options_.wire;
    layers.push_back(layer_of({title(all), false, group, {}}, std::make_shared<RingStage>(world_, group, wire)));
  }
  return std::make_unique<LayeredAllReduce>(std::move(layers), str("all of ", world_.size(), " ranks"), nullptr,
                                            std::move(notes));
}

Topology ReduceBuilder::shape_of(const Topology& topology) const {
  if (!options_.wire.keeps_left() || topology.dimensions.size() < 2) return topology;
  const Dimension& inner = topology.dimensions.front();
  const int ranks = world_.size(), local = inner.one_host ? static_cast<int>(inner.ranks.size()) : 1;
  DdlOptions merged = options_;
  merged.dims = local > 1 ? std::vector<int>{local, ranks / local} : std::vector<int>{ranks};
  return topology_of(topology.hosts, world_.rank(), merged);
}

std::unique_ptr<AllReduce> ReduceBuilder::layered(const Topology& given) {
  const Topology topology = shape_of(given);
  const std::vector<Tier> tiers = tiers_of(topology);
  std::vector<std::shared_ptr<Stage>> chosen;
  for (const Tier& tier : tiers) chosen.push_back(usual_stage(tier));
  return assemble(topology, tiers, std::move(chosen), {});
}

std::unique_ptr<AllReduce> ReduceBuilder::explored(const Topology& given) {
  const Topology topology = shape_of(given);
  const std::vector<Tier> tiers = tiers_of(topology);
  ChoiceCache cache(world_, topology, default_choice_cache());
  std::vector<std::string> notes;
  std::vector<std::shared_ptr<Stage>> chosen;
  for (const Tier& tier : tiers) chosen.push_back(explore_tier(world_, tier, scratch(), cache, notes));
  cache.save();
  return assemble(topology, tiers, std::move(chosen), std::move(notes));
}

}  // namespace robusta
