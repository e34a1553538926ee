/// A net that is trained by several devices, each of which has a stage of it.
///
/// A net on the host (NetOptions::params_only) holds the whole: definition, parameters, and with its Updater the
/// histories, for whoever reads files, writes them or looks. The stages have copies on their devices, which they train;
/// scatter() and gather() bring one to the other. So files are those of one device.
///
/// Each stage has a thread; the owner's thread hands out jobs and waits. The first error of a stage ends the passes of
/// all and is thrown.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solver/pipeline/pipeline_stage.h"
#include "solver/pipeline/schedule.h"
#include "solver/pipeline/stage_channel.h"
#include "solver/pipeline/stage_nets.h"
#include "solver/reports/training_log.h"

namespace robusta {

/// A device with what nets may take of it.
struct StageDevice {
  Device* device = nullptr;
  MemoryOptions memory = {};
};

struct PipelineOptions {
  std::vector<StageDevice> stages = {};  ///< none: the net is trained on one device
  PipelineOrder order = PipelineOrder::kOneForwardOneBackward;
};

/// A net of the host and what it was built of.
struct WholeNet {
  Net& net;
  NetDef def;
};

class Pipeline {
 public:
  /// Options for the nets of a stage.
  using OptionsOf = std::function<NetOptions(size_t stage, caffe::Phase phase)>;

  /// The solver's iter_size counts micro-batches. `solver`, the nets and `whole`, their updater, are kept by reference.
  /// Throws Error{kConfig|kUnsupported|kMemory} with file, line and layer.
  Pipeline(const SolverDef& solver, const PipelineOptions& options, const WholeNet& train,
           const std::vector<WholeNet>& tests, Updater& whole, const OptionsOf& options_of);

  /// Parameters, histories and averages go to the stages, or come from them.
  void scatter();
  void gather();

  using PassOf = std::function<Pass(int micro_batch)>;
  /// Forward and backward of an iteration's micro-batches; the loss of each. `pass_of` goes on into the next iteration.
  std::vector<double> run(const PassOf& pass_of);
  /// Each stage updates its parameters.
  void update(Updater::Iteration numbers);
  /// One forward pass of the train net, or of a test net; its loss.
  double forward(const Pass& pass);
  double test(size_t net, const Pass& pass);
  /// Outputs after the last pass, as read_outputs gives them for a net on one device.
  std::vector<OutputBlob> outputs();
  std::vector<OutputBlob> test_outputs(size_t net);

  /// As of a net, and of its updater: all stages have the same scale, and skip the same iterations.
  bool stores(DType type) const;
  void set_loss_scale(double scale);
  bool skipped() const;

  /// The first copy of a stage's train net.
  Net& stage_net(size_t stage) { return stages_[stage]->net(); }
  /// Seconds the sources of all stages have waited for data so far.
  double seconds_waited();
  /// Lines about stages and the bubble that is to be expected.
  std::vector<std::string> describe();
  /// The share of the time in which each stage stood idle in run(), without the first iteration; none: there was no
  /// other.
  std::vector<double> idle() const;
  std::vector<StageWork> predicted_work();
  double predicted_bubble();
  /// A line about both.
  std::string describe_idle();

 private:
  struct Cut;
  /// Where the stages have a parameter of the whole net.
  struct PlaceOfParam {
    ParamId whole;
    size_t stage;
    ParamId own;
  };

  void build_stages(const Cut& train, const std::vector<Cut>& tests, const OptionsOf& options_of);
  void connect(const Cut& train, const std::vector<Cut>& tests);
  void connect_train(const Crossing& crossing);
  void connect_test(size_t net, const Crossing& crossing);
  StageChannel& new_channel(Device& device, const TensorDesc& desc, int places);
  void copy_params_of_tests(const std::vector<WholeNet>& tests);
  void on_all(const std::function<void(PipelineStage& stage, size_t number)>& job);
  double forward_all(const std::function<StageNet*(PipelineStage&)>& net_of, const Pass& pass);
  std::vector<OutputBlob> read(const std::vector<std::vector<std::string>>& names,
                               const std::function<StageNet*(PipelineStage&)>& net_of);
  std::vector<PlaceOfParam> find_places() const;
  void begin_averages(Updater& from);
  bool has_averages() const;
  int kinds_of_history() const;
  double square_sum_of_gradients();
  void prepare_channels();
  void measure(double seconds);

  const SolverDef& solver_;
  const PipelineOptions options_;
  Net& whole_net_;
  Updater& whole_;
  const int micro_batches_;
  PipelineSignal signal_;
  std::vector<std::unique_ptr<StageChannel>> channels_;  ///< outlive the stages, whose streams copy to them
  std::vector<std::unique_ptr<PipelineStage>> stages_;
  std::vector<PlaceOfParam> places_;                                 ///< in the order of the whole net's parameters
  std::vector<std::vector<std::string>> inputs_, outputs_;           ///< by stage
  std::vector<std::vector<std::vector<std::string>>> test_outputs_;  ///< by test net, then by stage
  bool last_was_iteration_ = true;                                   ///< the last passes of the train net were
  int iterations_ = 0;
  double seconds_ = 0;           ///< of run(), without the first
  std::vector<double> working_;  ///< seconds of each stage in these
};

}  // namespace robusta
