/// Puts together the reduction of a topology: which algorithms each dimension could use, and which it uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/all_reduce.h"
#include "comm/reduce/layered.h"
#include "comm/reduce/shared_regions.h"

namespace robusta {

/// A dimension and all algorithms that its group could use. The same dimensions, in the same order, on all ranks.
struct Tier {
  std::string name;  ///< "X (4 ranks, within a host)"
  Group group;
  std::vector<std::shared_ptr<Stage>> stages;
};

class ReduceBuilder {
 public:
  /// Collective, as are the other calls.
  ReduceBuilder(Communicator& world, const Topology& topology, const DdlOptions& options,
                std::shared_ptr<SharedMemory> arena, size_t largest_bytes);

  /// One ring over all ranks, whatever the dims.
  std::unique_ptr<AllReduce> ring(std::vector<std::string> notes = {});
  /// Each dimension with the algorithm that a fixed rule gives it.
  std::unique_ptr<AllReduce> layered(const Topology& topology);

  Communicator& world() const { return world_; }
  const Topology& topology() const { return topology_; }
  const DdlOptions& options() const { return options_; }
  size_t largest_bytes() const { return largest_bytes_; }

 private:
  std::vector<Tier> tiers_of(const Topology& topology);
  std::vector<std::shared_ptr<Stage>> stages_of(const Dimension& dimension, std::shared_ptr<SharedMemory> board);
  std::unique_ptr<AllReduce> assemble(const Topology& topology, const std::vector<Tier>& tiers,
                                      std::vector<std::shared_ptr<Stage>> chosen, std::vector<std::string> notes);

  Communicator& world_;
  Topology topology_;
  DdlOptions options_;
  size_t largest_bytes_;
  bool crowded_;
  std::shared_ptr<const SharedRegions> regions_;  ///< null where every rank has a host for itself
};

}  // namespace robusta
