/// A net that is trained in stages by ranks, each of which has one: this rank's part of it.
///
/// Of the whole net a rank has the graph alone, and parameters, gradients, histories and activations of its own stage.
/// Several such pipelines train data parallel; the ranks that have the same stage are Ranks::group(). Schedule, cuts
/// and buffers are those of stages on devices of one process; couriers carry between the ranks what crosses.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "solver/pipeline/cut_nets.h"
#include "solver/pipeline/pipeline.h"
#include "solver/pipeline/pipeline_report.h"
#include "solver/pipeline/pipeline_stage.h"
#include "solver/pipeline/ranks/courier.h"
#include "solver/pipeline/ranks/param_places.h"
#include "solver/ranks/ranks.h"

namespace robusta {

class RankPipeline : public Pipeline {
 public:
  /// `own`: the first copy of this rank's stage of the train net. `micro_batches`: of an iteration. `test_options`: of
  /// the nets of tests. All but `cut` are kept by reference. Collective. Throws Error{kConfig|kUnsupported} on all
  /// ranks, Error{kMemory} on one that has no room for what travels.
  RankPipeline(Ranks& ranks, PipelineOrder order, int micro_batches, const WholeNet& train,
               const std::vector<WholeNet>& tests, CutNets cut, Net& own, const NetOptions& test_options);
  ~RankPipeline() override;

  using PassOf = std::function<Pass(int micro_batch)>;
  /// Forward and backward of an iteration's micro-batches; the loss of each, of this stage's layers.
  std::vector<double> run(const PassOf& pass_of, const PipelineStage::BeforeLast& before_last);
  double forward(const Pass& pass) override;
  double test(size_t net, const Pass& pass) override;
  std::vector<OutputBlob> outputs() override;
  std::vector<OutputBlob> test_outputs(size_t net) override;
  std::string describe_idle() override;

  bool stores(DType type) const override;
  void set_loss_scale(double scale) override;
  bool skipped() const override { return false; }
  double seconds_waited() override;

  /// Rows of as many numbers, of all stages in their order. Collective over the pipeline.
  std::vector<std::vector<double>> gather(const std::vector<double>& mine);
  /// Of the gradients of all stages, added in the order of the whole net's parameters: the sum is that of one rank, to
  /// the last bit. `own`: of each of this stage's parameters. Collective over the pipeline.
  double square_sum(const std::vector<double>& own);

  /// The whole net: it has no memory, but for a while (gathered_net.h).
  Net& whole() { return whole_; }
  /// The first copy of this rank's stage of it.
  Net& own() { return own_; }
  const std::vector<ParamPlace>& places() const { return places_; }
  /// All nets of this rank that run.
  std::vector<Net*> nets();
  /// Lines about stages and the bubble that is to be expected.
  std::vector<std::string> describe() const { return describe_stages(shape_, facts_); }

  /// What this rank has sent of activations and their gradients, and for how long it waited for other stages, so far.
  struct Traffic {
    double bytes = 0, waited = 0;
  };
  Traffic traffic() const;

 private:
  /// An output of a whole net: who has it, and what it is like.
  struct Output {
    std::string name;
    size_t stage;
    size_t count;
    float loss_weight;
  };
  struct Roads;
  using Couriers = std::vector<std::unique_ptr<Courier>>;

  static std::vector<Output> outputs_of(const CutNet& cut, const Net& whole);
  void connect_train(Roads& roads);
  void connect_test(size_t net, Roads& roads);
  DType agreed_type(const Crossing& crossing, int teller, const std::function<DType()>& told);
  std::shared_ptr<StageChannel> add_channel(const TensorDesc& desc, int places);
  StageFacts facts_of(size_t stage) const;
  void gather_facts();
  void carry(const std::vector<Couriers*>& couriers, int micro_batches, const std::function<void()>& work);
  [[noreturn]] void throw_what_broke(const std::vector<Couriers*>& couriers) const;
  std::vector<OutputBlob> read(const std::vector<Output>& outputs, StageNet* net);
  void measure(double seconds);

  Ranks& ranks_;
  const PipelineOrder order_;
  const int micro_batches_;
  const size_t number_;  ///< of this rank's stage
  Net &whole_, &own_;
  const CutNets cut_;
  const std::vector<ParamPlace> places_;  ///< in the order of the whole net's parameters
  std::shared_ptr<PipelineSignal> signal_ = std::make_shared<PipelineSignal>();
  std::vector<std::shared_ptr<StageChannel>> channels_;
  PipelineStage stage_;
  Couriers forward_, backward_;
  std::vector<Couriers> tests_;  ///< by test net
  std::vector<Output> outputs_;
  std::vector<std::vector<Output>> test_outputs_;
  PipelineShape shape_;
  std::vector<StageFacts> facts_;
  bool last_was_iteration_ = true;  ///< the last passes of the train net were
  int iterations_ = 0;
  double seconds_ = 0, working_ = 0;  ///< of run(), without the first, and of this stage in these
  double waited_ = 0;                 ///< for other stages
};

}  // namespace robusta
