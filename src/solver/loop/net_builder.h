/// The nets of a training: one that is trained, and the test nets, which share its parameters and its memory for
/// activations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "solver/files/net_defs.h"
#include "solver/loop/solver_options.h"
#include "solver/ranks/model/model_ranks.h"

namespace robusta {

class NetBuilder {
 public:
  /// References are kept. `seed`: of the parameter fillers.
  NetBuilder(const SolverDef& def, const SolverOptions& options, Ranks& ranks, uint64_t seed);

  /// The ranks as the train net's layers are cut among them, null where none is. Collective. Throws Error with file and
  /// line.
  std::unique_ptr<ModelRanks> model_ranks();
  /// With the weights to begin with on rank 0. `model` outlives it. Collective. Throws Error with file and line.
  std::unique_ptr<Net> train_net(const ModelRanks* model = nullptr);
  /// Collective.
  std::vector<std::unique_ptr<Net>> test_nets(Net& train_net);
  /// The stages of both, which are trained elsewhere, where the options say so.
  std::unique_ptr<Pipeline> pipeline(Net& train_net, std::vector<std::unique_ptr<Net>>& test_nets,
                                     Updater& updater) const;

 private:
  using Nets = std::vector<std::unique_ptr<Net>>;
  NetOptions options_of(caffe::Phase phase) const;
  NetOptions options_of_whole(caffe::Phase phase) const;
  NetOptions options_of_stage(size_t stage, caffe::Phase phase) const;
  bool pipelined() const { return !options_.pipeline.stages.empty(); }
  NetSource with_batch(NetSource source) const;
  std::unique_ptr<Net> build_train_net(const NetOptions& options) const;
  std::unique_ptr<Net> planned_train_net() const;
  void tune_on_root(NetOptions options);
  void build_test_nets(Net& train_net, Nets& nets) const;

  const SolverDef& def_;
  const SolverOptions& options_;
  Ranks& ranks_;
  uint64_t seed_;
  std::vector<std::string> weights_;  ///< files
};

}  // namespace robusta
