#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "net/report.h"
#include "schema/placeholders.h"
#include "schema/print.h"
#include "solver/files/net_defs.h"
#include "solver/files/weights.h"
#include "solver/ranks/share.h"
#include "solver/ranks/start_checks.h"
#include "solver/reports/debug_info.h"
#include "solver/solver.h"

namespace robusta {
namespace {

void require(bool holds, const SolverDef& solver, const char* field, int value, const char* fix) {
  if (!holds) throw Error(ErrorKind::kConfig, str(field, " is ", value), fix).at(solver.where(field));
}

void refuse_unsupported(const SolverDef& solver, const char* field, bool used, const char* whose) {
  if (!used) return;
  throw Error(ErrorKind::kUnsupported, str(field, " (", whose, ") is not in this build"), "remove it")
      .at(solver.where(field));
}

/// Everything that can be said without a net.
void check_solver(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  require(p.iter_size() > 0, solver, "iter_size", p.iter_size(), "give 1 or more");
  require(p.average_loss() > 0, solver, "average_loss", p.average_loss(), "give 1 or more");
  require(p.max_iter() >= 0, solver, "max_iter", p.max_iter(), "give the number of iterations");
  require(p.display() >= 0, solver, "display", p.display(), "give 0 for no display");
  require(p.snapshot() >= 0, solver, "snapshot", p.snapshot(), "give 0 for no periodic snapshots");
  require(p.test_interval() >= 0, solver, "test_interval", p.test_interval(), "give 0 for no tests");
  refuse_unsupported(solver, "larc", p.larc(), "NVIDIA");
  refuse_unsupported(solver, "test_and_snapshot_last_epochs", p.test_and_snapshot_last_epochs() > 0, "NVIDIA");
  refuse_unsupported(solver, "disabled_update", p.disabled_update(), "Intel");
  make_update_rule(solver);
  if (!p.has_base_lr() && p.lr_policy() != "multifixed") {
    LOG_WARNING << solver.file << ": base_lr is not set: the net will not learn";
  }
}

/// Intel's placeholders in the names of files.
void name_rank(caffe::SolverParameter& p, const Ranks& ranks) {
  p.set_snapshot_prefix(with_rank(p.snapshot_prefix(), ranks.rank(), ranks.count()));
  if (p.has_train_net()) p.set_train_net(with_rank(p.train_net(), ranks.rank(), ranks.count()));
}

uint64_t draw_seed() {
  uint64_t seed = 0;
  const int fd = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const bool drawn = fd >= 0 && ::read(fd, &seed, sizeof seed) == static_cast<ssize_t>(sizeof seed);
  if (fd >= 0) ::close(fd);
  if (!drawn) throw Error(ErrorKind::kInternal, "cannot read /dev/urandom", "set random_seed in the solver");
  return seed >> 1;  // so that it can be given as random_seed again
}

}  // namespace

Solver::Solver(SolverDef def, SolverOptions options)
    : def_(std::move(def)),
      options_(std::move(options)),
      ranks_(options_.ranks ? *options_.ranks : alone_),
      schedule_(def_),
      log_(options_.json, options_.progress) {
  ranks_.together([&] { check_solver(def_); });
  name_rank(def_.param, ranks_);
  LOG_INFO << "Initializing solver from parameters: \n" << text_form(def_.param);
  const std::unique_ptr<Snapshot> snapshot = read_state_to_resume();
  settle_seed();
  if (options_.memory.budget) options_.memory.budget->histories = make_update_rule(def_)->histories();
  build_nets();
  ranks_.together([&] { updater_ = std::make_unique<Updater>(def_, *train_net_, ranks_.count()); });
  LOG_INFO << "Solver scaffolding done.";
  if (snapshot) resume(*snapshot);
  check_same_data(ranks_, *train_net_);
  share_parameters(ranks_, *train_net_);
  if (snapshot) share_histories(ranks_, *updater_);
  ranks_.together([&] { settle_loss_scale(); });
  state_.global_batch = global_batch();
  watch_steps();
  if (!ranks_.alone()) {
    ranked_ = std::make_unique<RankedUpdate>(ranks_, *train_net_, *updater_);
    reports_ = std::make_unique<RankReports>(ranks_, ranked_->reducer(), options_.dtype, log_);
    reports_->at_start();
  }
  if (!options_.timeline.file.empty()) start_timeline();
}

/// Gradients that are stored as f16 are scaled: as the state says, else from NVIDIA's field or the usual start on.
void Solver::settle_loss_scale() {
  LossScale& scale = state_.loss_scale;
  if (!train_net_->diagnostics().stores(DType::kF16)) {
    scale.value = 0;
    return;
  }
  const caffe::NetParameter& net = train_net_->graph().def.param;
  if (!scale.active()) scale.value = net.has_global_grad_scale() ? net.global_grad_scale() : LossScale::kStart;
  if (!(scale.value >= LossScale::kLeast && scale.value <= LossScale::kMost)) {
    throw Error(ErrorKind::kConfig, str("global_grad_scale is ", scale.value),
                str("give a number between ", LossScale::kLeast, " and ", LossScale::kMost, ", or leave it out"))
        .at(train_net_->graph().def.file);
  }
  LOG_INFO << "Gradients of f16 activations are scaled, by " << scale.value << " to begin with";
  train_net_->set_loss_scale(scale.value);
}

/// The other ranks are told where this one is.
void Solver::watch_steps() {
  if (ranks_.alone()) return;
  const auto tell = [this](const std::string& layer, bool backward) { tell_step(layer, backward); };
  train_net_->diagnostics().set_step_watch(tell, false);
  for (auto& net : test_nets_) net->diagnostics().set_step_watch(tell, false);
}

void Solver::tell_step(const std::string& layer, bool backward) {
  char what[64];
  std::snprintf(what, sizeof what, "%s of layer %s", backward ? "backward" : "forward", layer.c_str());
  ranks_.doing(what);
}

void Solver::start_timeline() {
  constexpr size_t kPerBucket = 3;  // posted, waited for, updated
  const size_t buckets = ranked_ ? ranked_->reducer().buckets().size() : train_net_->params().size();
  const size_t steps = train_net_->plan().steps.size() * static_cast<size_t>(def_.param.iter_size());
  timeline_ = std::make_unique<Timeline>(ranks_, options_.timeline, steps + kPerBucket * buckets);
  if (ranked_) ranked_->record_in(*timeline_);
  train_net_->diagnostics().set_step_watch([this](const std::string& layer, bool backward) {
    timeline_->begin_step(layer, backward);
    if (!ranks_.alone()) tell_step(layer, backward);
  });
}

uint64_t Solver::global_batch() const {
  return static_cast<uint64_t>(train_net_->batch() * def_.param.iter_size() * ranks_.count());
}

/// Rank 0 reads; the others get the state, and weights and histories when those are shared.
std::unique_ptr<Snapshot> Solver::read_state_to_resume() {
  state_.losses = LossWindow(def_.param.average_loss());
  if (options_.snapshot.empty()) return nullptr;
  auto snapshot = std::make_unique<Snapshot>();
  ranks_.root_only([&] { *snapshot = read_snapshot(options_.snapshot); });
  share_state(ranks_, *snapshot);
  state_ = state_from_proto(snapshot->state, def_.param.average_loss());
  // Before the nets are planned: another kernel would add in another order.
  if (options_.tuner) options_.tuner->preset(state_.kernel_choices);
  return snapshot;
}

void Solver::settle_seed() {
  const int64_t given = def_.param.random_seed();
  const bool saved = !options_.snapshot.empty() && state_.seed != 0;
  if (given >= 0) {
    if (saved && state_.seed != static_cast<uint64_t>(given)) {
      LOG_WARNING << def_.where("random_seed") << ": random_seed " << given << " is not that of the state, "
                  << state_.seed << ": random crops, masks and order will differ from an uninterrupted run";
    }
    state_.seed = static_cast<uint64_t>(given);
  } else if (!saved) {
    state_.seed = draw_seed();
    ranks_.broadcast_value(state_.seed);
    LOG_INFO << "random_seed is not set: drew " << state_.seed;
  }
}

NetOptions Solver::net_options(caffe::Phase phase) const {
  NetOptions options;
  options.phase = phase;
  options.dtype = options_.dtype;
  options.precision = options_.precision;
  options.device = options_.device;
  options.seed = state_.seed;
  options.backward = phase == caffe::TRAIN;
  options.kernels = options_.kernels;
  options.share_memory = options_.share_memory;
  set_memory(options, options_.memory);
  options.keep_blobs = def_.param.debug_info();
  options.batch = options_.batch;
  options.data = options_.data;
  options.tuner = options_.tuner;
  options.rank = ranks_.rank();
  options.ranks = ranks_.count();
  return options;
}

void Solver::build_nets() {
  std::vector<std::string> weights = options_.weights;
  if (weights.empty()) {
    for (const std::string& list : def_.param.weights()) {
      for (std::string& path : split_list(list)) weights.push_back(std::move(path));
    }
  }
  if (!options_.snapshot.empty()) weights.clear();

  build_train_net(weights);
  if (options_.tuner) ranks_.doing("the timing of kernels", Activity::kPausing, 3600);
  ranks_.root_only([&] { build_test_nets(weights); });
  if (ranks_.alone()) return;
  if (options_.tuner) share_kernel_choices(ranks_, *options_.tuner);
  ranks_.doing("the set-up", Activity::kPausing);
  ranks_.together([&] {
    if (!ranks_.root()) build_test_nets(weights);
  });
}

void Solver::build_train_net(const std::vector<std::string>& weights) {
  NetOptions options = net_options(caffe::TRAIN);
  options.arena = std::make_shared<Arena>(*options.device);
  options.divide_batch = options_.batch_is_global;
  options.gradient_tail = ranks_.alone() ? 0 : RankedUpdate::kTailBytes;
  const auto build = [&] {
    const NetSource source = train_net_of(def_);
    LOG_INFO << "Creating training net from " << source.origin;
    train_net_ = std::make_unique<Net>(source.definition(), options);
  };
  if (ranks_.alone()) {
    build();
  } else {
    tune_on_root(options);
    ranks_.building([&](const Ranks::Allocate& allocate) {
      options.gradient_memory = allocate;
      build();
    });
  }
  const Plan& plan = train_net_->plan();
  if (plan.offloading.planned) LOG_INFO << "Large model support: " << describe_offloading(plan);
  ranks_.root_only([&] { load_weights(weights, *train_net_, "Finetuning"); });
}

/// Rank 0 times kernels and the others take its choices: equal kernels give equal bits, and nobody disturbs the timing.
void Solver::tune_on_root(NetOptions options) {
  if (!options_.tuner) return;
  options.plan_only = true;
  options.gradient_memory = nullptr;
  ranks_.doing("the timing of kernels", Activity::kPausing, 3600);
  ranks_.root_only([&] {
    const QuietLog quiet;
    Net(train_net_of(def_).definition(), options);
  });
  share_kernel_choices(ranks_, *options_.tuner);
  ranks_.doing("the set-up", Activity::kPausing);
}

void Solver::build_test_nets(const std::vector<std::string>& weights) {
  for (const NetSource& test_source : test_nets_of(def_)) {
    LOG_INFO << "Creating test net (#" << test_nets_.size() << ") specified by " << test_source.origin;
    NetOptions test = net_options(caffe::TEST);
    test.share_params = train_net_.get();
    test.arena = train_net_->options().arena;
    test_nets_.push_back(std::make_unique<Net>(test_source.definition(), test));
    if (def_.param.debug_info()) set_debug_info(*test_nets_.back(), true);
    if (!weights.empty()) load_weights_quietly(weights, *test_nets_.back(), "Finetuning");
  }
}

void Solver::resume(const Snapshot& snapshot) {
  LOG_INFO << "Resuming from " << snapshot.path;
  LOG_INFO << def_.param.type() << "Solver: restoring history";
  ranks_.root_only([&] {
    restore_arrays(snapshot, *train_net_, *updater_);
    check_global_batch(snapshot);
  });
}

void Solver::check_global_batch(const Snapshot& snapshot) const {
  if (!snapshot.state.has_robusta()) {
    LOG_WARNING << snapshot.path << " holds no position in the data (Caffe wrote it): training goes on from the first "
                << "sample, and not as an uninterrupted run would";
    return;
  }
  const uint64_t now = global_batch();
  if (state_.global_batch == now || options_.accept_batch_change) return;
  throw Error(ErrorKind::kConfig,
              str("the state was written with ", state_.global_batch, " samples per iteration, this run has ", now,
                  " (", ranks_.count(), " ranks x batch ", train_net_->batch(), " x iter_size ", def_.param.iter_size(),
                  "): the learning rate and its schedule would no longer fit"),
              "keep the product (-batch global divides batch_size among the ranks), or give -accept_batch_change and "
              "see to base_lr, stepsize and max_iter yourself")
      .at(snapshot.path);
}

}  // namespace robusta
