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

#include "solver/pipeline/cut_nets.h"
#include "solver/pipeline/devices/stage_thread.h"
#include "solver/pipeline/pipeline.h"
#include "solver/pipeline/pipeline_options.h"
#include "solver/pipeline/pipeline_report.h"
#include "solver/pipeline/pipeline_stage.h"
#include "solver/pipeline/stage_channel.h"
#include "solver/update/updater.h"

namespace robusta {

/// A stage with the update of its parameters and a thread of its own.
struct DeviceStage : PipelineStage {
  std::unique_ptr<Updater> updater;  ///< before the nets go: it waits for their stream
  StageThread thread;                ///< the last member: it uses the others
};

class DevicePipeline : public Pipeline {
 public:
  /// Options for the nets of a stage.
  using OptionsOf = std::function<NetOptions(size_t stage, caffe::Phase phase)>;

  /// The solver's iter_size counts micro-batches. `solver`, the nets and `whole`, their updater, are kept by reference.
  /// Throws Error{kConfig|kUnsupported|kMemory} with file, line and layer.
  DevicePipeline(const SolverDef& solver, const PipelineOptions& options, const WholeNet& train,
                 const std::vector<WholeNet>& tests, Updater& whole, const OptionsOf& options_of);

  /// Parameters, histories and averages go to the stages, or come from them.
  void scatter() override;
  void gather();

  using PassOf = std::function<Pass(int micro_batch)>;
  /// Forward and backward of an iteration's micro-batches; the loss of each. `pass_of` goes on into the next iteration.
  std::vector<double> run(const PassOf& pass_of);
  /// Each stage updates its parameters.
  void update(Updater::Iteration numbers);
  double forward(const Pass& pass) override;
  double test(size_t net, const Pass& pass) override;
  std::vector<OutputBlob> outputs() override;
  std::vector<OutputBlob> test_outputs(size_t net) override;
  bool stores(DType type) const override;
  void set_loss_scale(double scale) override;
  bool skipped() const override;
  double seconds_waited() override;

  /// The first copy of a stage's train net.
  Net& stage_net(size_t stage) { return stages_[stage]->net(); }
  /// Lines about stages and the bubble that is to be expected.
  std::vector<std::string> describe() { return describe_stages(shape(), facts()); }
  /// The share of the time in which each stage stood idle in run(), without the first iteration; none: there was no
  /// other.
  std::vector<double> idle() const;
  std::string describe_idle() override { return describe_idle_stages(shape(), facts(), idle()); }

 private:
  /// Where the stages have a parameter of the whole net.
  struct PlaceOfParam {
    ParamId whole;
    size_t stage;
    ParamId own;
  };

  void build_stages(const OptionsOf& options_of);
  void connect();
  void connect_train(const Crossing& crossing);
  void connect_test(size_t net, const Crossing& crossing);
  StageChannel& new_channel(Device& device, const TensorDesc& desc, int places);
  void copy_params_of_tests(const std::vector<WholeNet>& tests);
  void on_all(const std::function<void(DeviceStage& stage, size_t number)>& job);
  double forward_all(const std::function<StageNet*(PipelineStage&)>& net_of, const Pass& pass);
  std::vector<OutputBlob> read(const CutNet& cut, const std::function<StageNet*(PipelineStage&)>& net_of);
  std::vector<PlaceOfParam> find_places() const;
  void begin_averages(Updater& from);
  bool has_averages() const;
  int kinds_of_history() const;
  double square_sum_of_gradients();
  void prepare_channels();
  void measure(double seconds);
  PipelineShape shape() const;
  std::vector<StageFacts> facts();

  const SolverDef& solver_;
  const PipelineOptions options_;
  Net& whole_net_;
  Updater& whole_;
  const int micro_batches_;
  PipelineSignal signal_;
  std::vector<std::unique_ptr<StageChannel>> channels_;  ///< outlive the stages, whose streams copy to them
  std::vector<std::unique_ptr<DeviceStage>> stages_;
  CutNets cut_;
  std::vector<PlaceOfParam> places_;  ///< in the order of the whole net's parameters
  bool last_was_iteration_ = true;    ///< the last passes of the train net were
  int iterations_ = 0;
  double seconds_ = 0;           ///< of run(), without the first
  std::vector<double> working_;  ///< seconds of each stage in these
};

}  // namespace robusta
