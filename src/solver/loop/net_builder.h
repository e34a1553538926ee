/// The nets of a training: one that is trained, and the test nets, which share its parameters and its memory for
/// activations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "solver/files/net_defs.h"
#include "solver/loop/solver_options.h"
#include "solver/pipeline/devices/device_pipeline.h"
#include "solver/pipeline/ranks/rank_pipeline.h"
#include "solver/ranks/model/model_ranks.h"

namespace robusta {

class NetBuilder {
 public:
  using Nets = std::vector<std::unique_ptr<Net>>;

  /// References are kept. `seed`: of the parameter fillers.
  NetBuilder(const SolverDef& def, const SolverOptions& options, Ranks& ranks, uint64_t seed);

  /// The ranks as the train net's layers are cut among them, null where none is. Collective. Throws Error with file and
  /// line.
  std::unique_ptr<ModelRanks> model_ranks();
  /// With the weights to begin with on rank 0. `model` outlives it. Collective. Throws Error with file and line.
  std::unique_ptr<Net> train_net(const ModelRanks* model = nullptr);
  /// Collective.
  Nets test_nets(Net& train_net);
  /// The stages of both, which are trained on devices of this process, where the options say so.
  std::unique_ptr<DevicePipeline> pipeline(Net& train_net, const Nets& test_nets, Updater& updater) const;

  // Where ranks have a stage each (Ranks::staged()), in this order; collective. Throw Error with file and line.

  /// The train net without memory, of which test_nets() makes others.
  std::unique_ptr<Net> whole_net();
  /// This rank's stage of it.
  std::unique_ptr<Net> stage_net(Net& whole, const Nets& test_nets);
  /// `own`: by stage_net().
  std::unique_ptr<RankPipeline> rank_pipeline(Net& whole, const Nets& test_nets, Net& own);
  /// The stages get the weights to begin with, where there are any.
  void begin_stages(RankPipeline& pipeline, Updater& updater);

 private:
  NetOptions options_of(caffe::Phase phase) const;
  NetOptions options_of_whole(caffe::Phase phase) const;
  NetOptions options_of_stage(size_t stage, caffe::Phase phase) const;
  bool pipelined() const { return !options_.pipeline.stages.empty(); }
  NetSource with_batch(NetSource source) const;
  std::unique_ptr<Net> build_train_net(const NetOptions& options) const;
  std::unique_ptr<Net> planned_train_net() const;
  void tune_on_root(Ranks& ranks, const NetDef& def, NetOptions options);
  WholeNet whole_train(Net& net) const;
  std::vector<WholeNet> whole_tests(const Nets& nets) const;
  void check_test_params(const Nets& test_nets) const;
  void build_test_nets(Net& train_net, Nets& nets) const;

  const SolverDef& def_;
  const SolverOptions& options_;
  Ranks& ranks_;
  uint64_t seed_;
  std::vector<std::string> weights_;  ///< files
  CutNets cut_;                       ///< from stage_net() to rank_pipeline()
};

}  // namespace robusta
