/// What the parts of a training share: nets and state have one owner, the Solver, and many users.
#pragma once

#include <functional>

#include "net/net.h"
#include "schema/source.h"
#include "solver/files/training_state.h"
#include "solver/pipeline/pipeline.h"
#include "solver/pipeline/ranks/rank_pipeline.h"
#include "solver/ranks/ranks.h"
#include "solver/trace/trace_recorder.h"
#include "solver/update/schedule.h"
#include "solver/update/updater.h"

namespace robusta {

/// All of it outlives the parts.
struct Training {
  const SolverDef& def;
  Ranks& ranks;
  TrainingState& state;
  Net& net;  ///< that is trained; where ranks have a stage each, this one's
  Updater& updater;
  const Schedule& schedule;
  Pipeline* pipeline = nullptr;        ///< that trains the net, stage by stage; null: the net itself does
  RankPipeline* over_ranks = nullptr;  ///< the same, where ranks have a stage each
  TraceRecorder* recorder = nullptr;   ///< null: no timeline is wanted
  double rate = 0;                     ///< of the running iteration
  /// Waits for those under way, after which all ranks have the same weights. REQUIRED before parameters are read.
  std::function<void()> finish_updates = [] {};
  std::function<void()> settle_sums = [] {};  ///< the state gets what sums over ranks go on with. Collective

  const caffe::SolverParameter& param() const { return def.param; }
  /// What is trained, all stages together. Where ranks have them it has no memory.
  Net& whole() const { return over_ranks ? over_ranks->whole() : net; }
  /// Samples of a pass.
  int64_t batch() const { return whole().batch(); }
  /// The ranks that have the same net as this one.
  Ranks& with_same_net() const { return over_ranks ? ranks.group() : ranks; }
  /// Of the train net after a pass; where ranks have stages, zeros for what others have.
  std::vector<OutputBlob> outputs() const { return pipeline ? pipeline->outputs() : read_outputs(net); }
  /// Whether any activation, or gradient of one, is stored as this type.
  bool stores(DType type) const { return pipeline ? pipeline->stores(type) : net.diagnostics().stores(type); }
  void set_loss_scale(double scale) { pipeline ? pipeline->set_loss_scale(scale) : net.set_loss_scale(scale); }
  /// With a loss scale: the last iteration changed nothing.
  bool skipped() const { return pipeline ? pipeline->skipped() : updater.skipped(); }
  /// For data, so far.
  double seconds_waited() const { return pipeline ? pipeline->seconds_waited() : net.diagnostics().seconds_waited(); }
};

}  // namespace robusta
