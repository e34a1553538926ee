/// A stage of a pipeline: its part of the nets on its device, as many copies of the train net as passes are in flight,
/// and the update of its parameters.
///
/// The copies share their parameters and gradients; each has memory of its own for activations. Test nets use the
/// parameters, too, and the memory of the last copy. One thread at a time: the stage's own while a job runs, else the
/// pipeline's owner.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "solver/pipeline/schedule.h"
#include "solver/pipeline/stage_net.h"
#include "solver/pipeline/stage_thread.h"
#include "solver/update/updater.h"

namespace robusta {

class PipelineStage {
 public:
  PipelineStage() = default;
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;

  /// In this order, on the stage's thread. Throw Error with file and line. `solver` is kept by reference.
  void build(const NetDef& net, const NetOptions& options, int copies);
  /// `net` may have no layers.
  void add_test(const NetDef& net, NetOptions options);
  void make_updater(const SolverDef& solver);

  StageThread& thread() { return thread_; }
  int copies() const { return static_cast<int>(copies_.size()); }
  /// That of a micro-batch.
  StageNet& copy_for(int micro_batch) { return copies_[static_cast<size_t>(micro_batch) % copies_.size()]; }
  std::span<StageNet> all_copies() { return copies_; }
  /// Null where the test net has no layers here.
  StageNet* test(size_t net) { return tests_[net].get(); }
  Net& net() { return copies_[0].net(); }
  Updater& updater() { return *updater_; }

  /// An iteration's passes. `passes`: of all its micro-batches, and of as many of the next iteration as there are
  /// copies. Returns the loss of each micro-batch.
  std::vector<double> run(std::span<const PipelineTask> tasks, std::span<const Pass> passes, int micro_batches);
  /// Seconds since the last call.
  StageTimes take_times() { return std::exchange(times_, {}); }
  /// By the plan: of one micro-batch.
  StageWork predicted_work();

 private:
  Pass with_next(std::span<const Pass> passes, int micro_batch, int micro_batches) const;

  std::vector<StageNet> copies_;
  std::vector<std::unique_ptr<StageNet>> tests_;
  std::unique_ptr<Updater> updater_;  ///< before the nets go: it waits for their stream
  StageTimes times_;
  StageThread thread_;  ///< the last member: it uses the others
};

}  // namespace robusta
