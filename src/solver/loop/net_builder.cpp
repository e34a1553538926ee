// Rank 0 times kernels and the others take its choices: equal kernels give equal bits, and nobody disturbs the timing.
#include "solver/loop/net_builder.h"

#include "base/log.h"
#include "net/report.h"
#include "solver/files/weights.h"
#include "solver/ranks/model/cut_net.h"
#include "solver/ranks/model/fit/fit_cuts.h"
#include "solver/ranks/share.h"
#include "solver/ranks/sums/gradient_sum.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/reports/debug_info.h"

namespace robusta {
namespace {

constexpr double kTuningLimit = 3600;  // seconds: the others wait meanwhile

/// Those of the command line, else of the solver's file; none when a snapshot or the phase before has them.
std::vector<std::string> weights_of(const SolverDef& def, const SolverOptions& options) {
  if (resumes(options) || options.handed_over) return {};
  std::vector<std::string> weights = options.weights;
  if (!weights.empty()) return weights;
  for (const std::string& list : def.param.weights()) {
    for (std::string& path : split_list(list)) weights.push_back(std::move(path));
  }
  return weights;
}

}  // namespace

NetBuilder::NetBuilder(const SolverDef& def, const SolverOptions& options, Ranks& ranks, uint64_t seed)
    : def_(def), options_(options), ranks_(ranks), seed_(seed), weights_(weights_of(def, options)) {}

NetOptions NetBuilder::options_of(caffe::Phase phase) const {
  NetOptions options;
  options.phase = phase;
  options.dtype = options_.dtype;
  options.precision = options_.precision;
  options.device = options_.device;
  options.seed = seed_;
  options.backward = phase == caffe::TRAIN;
  options.skip_unread = !pipelined() && !ranks_.staged();
  options.kernels = options_.kernels;
  options.share_memory = options_.share_memory;
  set_memory(options, options_.memory);
  options.keep_blobs = options_.keep_blobs || def_.param.debug_info();
  options.batch = options_.batch;
  options.data = options_.data;
  options.tuner = options_.tuner;
  // What trains has the places of workers; tests are made by all.
  const bool trains = phase == caffe::TRAIN;
  options.ranks = trains ? ranks_.learners() : ranks_.count() / ranks_.stages();
  options.rank = ranks_.learner() % options.ranks;
  if (trains) options.micro_batches = options_.micro_batches;
  return options;
}

/// Of a net that never runs: it holds parameters for the stages of a pipeline; or nothing, where ranks have them, and
/// then it is planned for the choices of kernels, which are those of stages.
NetOptions NetBuilder::options_of_whole(caffe::Phase phase) const {
  NetOptions options = options_of(phase);
  if (ranks_.staged()) {
    options.plan_only = true;
    options.budget = nullptr;
    return options;
  }
  if (!pipelined()) return options;
  options.params_only = true;
  options.precision = DType::kF32;
  options.kernels = "reference";
  options.tuner = nullptr;
  return options;
}

NetOptions NetBuilder::options_of_stage(size_t stage, caffe::Phase phase) const {
  NetOptions options = options_of(phase);
  options.stage = true;
  options.device = options_.pipeline.stages[stage].device;
  set_memory(options, options_.pipeline.stages[stage].memory);
  return options;
}

NetSource NetBuilder::with_batch(NetSource source) const {
  if (options_.phase) set_batch(*options_.phase, source.net);
  return source;
}

std::unique_ptr<Net> NetBuilder::build_train_net(const NetOptions& options) const {
  const NetSource source = with_batch(train_net_of(def_));
  LOG_INFO << "Creating training net from " << source.origin;
  return std::make_unique<Net>(source.definition(), options);
}

std::unique_ptr<ModelRanks> NetBuilder::model_ranks() {
  if (ranks_.alone()) return nullptr;
  std::vector<ModelCut> cuts;
  NetDef net;
  ranks_.together([&] {
    net = with_batch(train_net_of(def_)).definition();
    cuts = model_cuts(net, ranks_.count());
    check_cut_training(cuts, ranks_.options(), *options_.device);
  });
  if (ranks_.options().fit.asked) {
    cuts = fitted_cuts(ranks_, {def_, net, *options_.device, [&] { return planned_train_net(); }}, std::move(cuts));
  }
  return cuts.empty() ? nullptr : std::make_unique<ModelRanks>(ranks_, cuts);
}

/// Of which nothing ever runs.
std::unique_ptr<Net> NetBuilder::planned_train_net() const {
  NetOptions options = options_of_whole(caffe::TRAIN);
  options.divide_batch = options_.batch_is_global;
  options.plan_only = true;
  options.tuner = nullptr;
  const QuietLog quiet;
  return std::make_unique<Net>(with_batch(train_net_of(def_)).definition(), options);
}

std::unique_ptr<Net> NetBuilder::train_net(const ModelRanks* model) {
  NetOptions options = options_of_whole(caffe::TRAIN);
  if (model) options.model_groups = model->groups();
  options.arena = std::make_shared<Arena>(*options.device);
  options.divide_batch = options_.batch_is_global;
  if (!ranks_.alone()) options.gradient_buckets = gradients_that_share_memory(ranks_.options());
  options.gradient_tail = ranks_.alone() ? 0 : RankedUpdate::kTailBytes;
  std::unique_ptr<Net> net;
  if (ranks_.alone()) {
    net = build_train_net(options);
  } else {
    tune_on_root(ranks_, with_batch(train_net_of(def_)).definition(), options);
    ranks_.building([&](const Ranks::Allocate& allocate) {
      options.gradient_memory = allocate;
      net = build_train_net(options);
    });
  }
  if (model) {
    ranks_.together([&] { check_cut_net(*net, model->cuts()); });
    for (const std::string& line : describe_cuts(*net, model->cuts(), ranks_.count())) LOG_INFO << line;
  }
  if (net->plan().offloading.planned) LOG_INFO << "Large model support: " << describe_offloading(net->plan());
  ranks_.root_only([&] {
    load_weights(weights_, *net, "Finetuning");
    if (options_.handed_over) copy_weights(*options_.handed_over, "the phase before", *net);
  });
  return net;
}

void NetBuilder::tune_on_root(Ranks& ranks, const NetDef& def, NetOptions options) {
  if (!options_.tuner) return;
  options.plan_only = true;
  // Planned for its choices alone: nothing of it ever runs.
  options.gradient_memory = nullptr;
  ranks_.doing("the timing of kernels", Activity::kPausing, kTuningLimit);
  ranks.root_only([&] {
    const QuietLog quiet;
    Net(def, options);
  });
  share_kernel_choices(ranks, *options_.tuner);
  ranks_.doing("the set-up", Activity::kPausing);
}

NetBuilder::Nets NetBuilder::test_nets(Net& train_net) {
  Nets nets;
  // Rank 0 builds its test nets first, and times what the training net has not; only then the others know its choices.
  if (options_.tuner) ranks_.doing("the timing of kernels", Activity::kPausing, kTuningLimit);
  ranks_.root_only([&] { build_test_nets(train_net, nets); });
  if (ranks_.alone()) return nets;
  if (options_.tuner) share_kernel_choices(ranks_, *options_.tuner);
  ranks_.doing("the set-up", Activity::kPausing);
  ranks_.together([&] {
    if (!ranks_.root()) build_test_nets(train_net, nets);
  });
  return nets;
}

void NetBuilder::build_test_nets(Net& train_net, Nets& nets) const {
  for (const NetSource& source : test_nets_of(def_)) {
    LOG_INFO << "Creating test net (#" << nets.size() << ") specified by " << source.origin;
    NetOptions options = options_of_whole(caffe::TEST);
    options.share_params = &train_net;
    // Train and test nets never run at the same time.
    options.arena = train_net.options().arena;
    nets.push_back(std::make_unique<Net>(with_batch(source).definition(), options));
    if (def_.param.debug_info()) set_debug_info(*nets.back(), true);
    if (!weights_.empty() && !options.plan_only) load_weights_quietly(weights_, *nets.back(), "Finetuning");
  }
}

WholeNet NetBuilder::whole_train(Net& net) const { return {net, with_batch(train_net_of(def_)).definition()}; }

std::vector<WholeNet> NetBuilder::whole_tests(const Nets& nets) const {
  std::vector<WholeNet> tests;
  for (const NetSource& source : test_nets_of(def_)) {
    tests.push_back({*nets[tests.size()], with_batch(source).definition()});
  }
  return tests;
}

std::unique_ptr<DevicePipeline> NetBuilder::pipeline(Net& train_net, const Nets& test_nets, Updater& updater) const {
  if (!pipelined()) return nullptr;
  auto pipeline = std::make_unique<DevicePipeline>(
      def_, options_.pipeline, whole_train(train_net), whole_tests(test_nets), updater,
      [this](size_t stage, caffe::Phase phase) { return options_of_stage(stage, phase); });
  for (const std::string& line : pipeline->describe()) LOG_INFO << line;
  return pipeline;
}

}  // namespace robusta
