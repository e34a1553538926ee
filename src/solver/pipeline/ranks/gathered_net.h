/// The whole net of a pipeline over ranks, as files have it: on rank 0, while this lives.
///
/// Rank 0 then has memory for all parameters and, where they are asked for, all histories; the other ranks have none.
/// One parameter travels after the other, from the first pipeline's ranks or to the ranks of all. All members are
/// collective over all ranks, but for net() and updater().
#pragma once

#include <memory>
#include <optional>

#include "net/tuning.h"
#include "solver/files/snapshot.h"
#include "solver/pipeline/ranks/rank_pipeline.h"
#include "solver/update/updater.h"

namespace robusta {

class GatheredNet {
 public:
  /// References are kept; `updater` is that of this rank's stage. Throws Error{kMemory} on all ranks.
  GatheredNet(Ranks& ranks, const SolverDef& solver, RankPipeline& pipeline, Updater& updater);
  ~GatheredNet();
  GatheredNet(const GatheredNet&) = delete;
  GatheredNet& operator=(const GatheredNet&) = delete;

  // On rank 0.

  /// Its parameters are as the fillers make them, until they are gathered or read.
  Net& net() { return pipeline_.whole(); }
  /// With room for histories.
  Updater& updater() { return *whole_updater_; }

  /// The whole net's weights, and gradients where files have them, are those of the stages; histories alike.
  void gather_weights();
  void gather_histories();
  /// The stages' weights are those of the whole net.
  void scatter_weights();
  /// Those of a snapshot that rank 0 has read. REQUIRES: check_histories().
  void scatter_histories(const Snapshot& snapshot);

 private:
  bool owns(const ParamPlace& place) const;
  Param& own_param(const ParamPlace& place);
  void fetch(const ParamPlace& place, const void* own, void* whole, size_t bytes);
  void hand_out(const ParamPlace& place, const void* whole, void* own, size_t bytes);
  HistoryId of_whole(const ParamPlace& place, int kind) const;
  HistoryId of_own(const ParamPlace& place, int kind) const;
  int kinds() const { return update_arrays_; }
  size_t own_params() const;

  Ranks& ranks_;
  const SolverDef& solver_;
  RankPipeline& pipeline_;
  Updater& own_updater_;
  const int update_arrays_;  ///< histories of a parameter
  std::unique_ptr<Updater> whole_updater_;
};

/// The kernels that the ranks of the first pipeline have chosen, among those of rank 0. Collective.
void gather_choices(Ranks& ranks, KernelChoices& choices);

}  // namespace robusta
