/// Puts together the reduction of a topology: which algorithms each dimension could use, and which it uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/ddl_options.h"
#include "comm/reduce/layered.h"
#include "comm/reduce/reduction.h"
#include "comm/reduce/shared_regions.h"
#include "comm/reduce/tier.h"
#include "comm/topology.h"

namespace robusta {

class ReduceBuilder {
 public:
  /// Collective, as are the other calls.
  ReduceBuilder(Communicator& world, const Topology& topology, const DdlOptions& options,
                std::shared_ptr<SharedMemory> arena, size_t largest_bytes);

  /// One ring over all ranks, whatever the dims.
  std::unique_ptr<AllReduce> ring(std::vector<std::string> notes = {});
  /// Each dimension with the algorithm that a fixed rule gives it.
  std::unique_ptr<AllReduce> layered(const Topology& given);

  /// Each dimension with the algorithms that are found best by trying.
  std::unique_ptr<AllReduce> explored(const Topology& given);
  /// The grid, or single ring, that is found best by trying.
  std::unique_ptr<AllReduce> automatic();
  /// As -mode says: m, r, or the dims of b.
  std::unique_ptr<AllReduce> by_mode(const DdlOptions& options);

 private:
  /// With int8 all dimensions between hosts are one: a sum that is rounded in one dimension and again in the next would
  /// leave something on several ranks, which would have to agree on it.
  Topology shape_of(const Topology& topology) const;
  size_t staging_bytes() const;
  void share_memory();
  /// Zeros for trials, in shared memory where there is any.
  Span scratch();
  std::vector<Tier> tiers_of(const Topology& topology);
  std::vector<std::shared_ptr<Stage>> stages_of(const Dimension& dimension, std::shared_ptr<SharedMemory> board);
  std::unique_ptr<AllReduce> assemble(const Topology& topology, const std::vector<Tier>& tiers,
                                      std::vector<std::shared_ptr<Stage>> chosen, std::vector<std::string> notes);

  Communicator& world_;
  Topology topology_;
  DdlOptions options_;
  size_t largest_bytes_;                          ///< of a bucket
  bool crowded_;                                  ///< more ranks on this host than processors: nobody spins for long
  std::shared_ptr<SharedMemory> arena_;           ///< where gradients lie
  bool has_neighbours_;                           ///< some ranks share a host
  std::shared_ptr<const SharedRegions> regions_;  ///< null until needed, and where every rank has a host for itself
  std::shared_ptr<std::byte> trials_;             ///< what is summed to measure, where no memory is shared
};

}  // namespace robusta
