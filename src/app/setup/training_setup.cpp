// Larger global batches usually want a larger rate: in proportion (Goyal et al. 2017, section 2.1), or by the root of
// it (Krizhevsky 2014).

#include "app/setup/training_setup.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>

#include "app/setup/memory.h"
#include "app/setup/pipeline_choice.h"
#include "app/setup/socket_ranks.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "comm/launch.h"
#include "net/plan/precision.h"
#include "schema/placeholders.h"
#include "schema/read_text.h"
#include "solver/files/ignored.h"
#include "solver/files/model_format.h"
#include "solver/files/net_defs.h"
#include "solver/files/snapshot.h"
#include "solver/files/weights.h"
#include "solver/loop/solver_checks.h"
#include "solver/ranks/elastic.h"
#include "solver/ranks/job.h"
#include "solver/ranks/start_checks.h"
#include "solver/reports/warning_events.h"
#include "solver/update/schedule.h"

namespace robusta {
namespace {

void check_flags(const Options& options, const std::string& action) {
  require_flag(action, "solver", options.solver());
  if (!options.snapshot().empty() && options.snapshot() != "auto" && !options.weights().empty()) {
    throw Error(ErrorKind::kUsage, "both -snapshot and -weights are given",
                "give -snapshot to resume a training, or -weights to fine-tune");
  }
}

TensorBoardOptions tensorboard_options(const Options& options) {
  const int every = options.tensorboard_histograms();
  if (every < 0) throw Error(ErrorKind::kUsage, "-tensorboard_histograms is negative", "give 0 or more");
  if (every > 0 && options.tensorboard().empty()) {
    throw Error(ErrorKind::kUsage, "-tensorboard_histograms is given without -tensorboard",
                "say by -tensorboard DIR where histograms go");
  }
  return {.folder = options.tensorboard(), .histograms = every};
}

double rate_factor(const std::string& scaling, int ranks) {
  if (scaling == "none") return 1;
  if (scaling == "linear") return ranks;
  if (scaling == "sqrt") return std::sqrt(ranks);
  throw Error(ErrorKind::kUsage, "-lr_scaling \"" + scaling + "\"" + did_you_mean(scaling, {"linear", "sqrt", "none"}),
              "known: linear, sqrt, none");
}

std::string prefix_of(const SolverPhase& phase, int ranks) {
  return with_rank(phase.solver.param.snapshot_prefix(), 0, ranks);
}

/// What would end the training when the phase begins.
void check_phase(const SolverPhase& phase) {
  const QuietLog quiet;  // the phase itself will say it again
  check_solver(phase.solver);
  const Schedule checked(phase.solver);
  NetDef net = train_net_of(phase.solver).net;
  set_batch(phase, net);
  for (NetSource& test : test_nets_of(phase.solver)) set_batch(phase, test.net);
  if (plans_snapshots(phase.solver.param)) format_of_solver(phase.solver);
}

/// What to resume from, "" for a fresh start, and the phase that this is in.
struct Start {
  std::string snapshot;
  size_t phase = 0;
};

/// The newest snapshot of the last phase that has one.
Start newest_start(const std::vector<SolverPhase>& phases, int ranks) {
  for (size_t phase = phases.size(); phase-- > 0;) {
    const std::string newest = newest_snapshot(prefix_of(phases[phase], ranks));
    if (newest.empty()) continue;
    LOG_INFO << "-snapshot auto: resuming from " << newest;
    return {newest, phase};
  }
  LOG_INFO << "-snapshot auto: no snapshot with prefix " << prefix_of(phases[0], ranks) << ", a fresh start";
  return {};
}

Start start_from(const std::string& snapshot, const std::vector<SolverPhase>& phases, int ranks) {
  if (snapshot == "auto") return newest_start(phases, ranks);
  if (snapshot.empty() || phases.size() == 1) return {snapshot};
  const std::string file = prefix_parts(snapshot).stem;
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    if (file.starts_with(prefix_parts(prefix_of(phases[phase], ranks)).stem + "_iter_")) return {snapshot, phase};
  }
  throw Error(ErrorKind::kUsage, "-snapshot " + snapshot + " is of no phase of this solver",
              "its name has to begin with " + prefix_of(phases[0], ranks) + "_iter_, or with that of another phase");
}

/// "log.json", 1 -> "log.set1.json".
std::string name_of_set(const std::string& path, int set) {
  const std::filesystem::path whole(path);
  std::filesystem::path name = whole.stem();
  name += str(".set", set, whole.extension().string());
  return (whole.parent_path() / name).string();
}

bool has_word(const std::string& words, const std::string& name) {
  std::istringstream all(words);
  for (std::string word; all >> word;) {
    if (word == "-" + name || word == "--" + name) return true;
  }
  return false;
}

/// Where TF_CONFIG names tasks of the type "ps": each worker is a group of its own, as in TensorFlow's
/// ParameterServerStrategy, unless `words` of -ddl make others of them.
std::string words_of_servers(const Launch& launch, const std::string& words) {
  const int workers = launch.ranks - launch.servers;
  if (launch.servers == 0 || workers == 0) return "";
  std::string more;
  if (!has_word(words, "groups")) more += str(" -groups ", workers);
  if (!has_word(words, "servers")) more += str(" -servers ", launch.servers);
  const int given = parse_ddl_options(words + more).served.servers;
  if (given == launch.servers) return more;
  throw Error(
      ErrorKind::kUsage,
      str("TF_CONFIG names ", counted(launch.servers, "parameter server"), ", and -n_server or -servers ", given),
      "leave it out, or give the same");
}

}  // namespace

void read_options_of_set(const Options& all, const DdlOptions& ddl, Options& own) {
  for (const FlagBase* flag : all.flags()) own.find(flag->name())->read(flag->text());
  const std::vector<std::string> solvers = split_list(all.solver());
  if (solvers.size() != ddl.sets.size()) {
    throw Error(ErrorKind::kUsage,
                str("-sets makes ", ddl.sets.size(), " of the ranks, and -solver names ",
                    counted(static_cast<int64_t>(solvers.size()), "solver")),
                "give a solver for each, separated by commas, in the order of the sets");
  }
  own.solver.read(solvers[static_cast<size_t>(ddl.own_set)]);
  for (FlagBase* flag : {static_cast<FlagBase*>(&own.log_json), static_cast<FlagBase*>(&own.timeline),
                         static_cast<FlagBase*>(&own.tensorboard)}) {
    if (!flag->text().empty()) flag->read(name_of_set(flag->text(), ddl.own_set));
  }
}

std::string ddl_of_training(const Options& options) {
  std::string words = ddl_text(options.ddl());
  if (options.n_group.given()) words += str(" -groups ", options.n_group());
  if (options.n_server.given()) words += str(" -servers ", options.n_server());
  return words + words_of_servers(own_launch(), words);
}

int run_training_job(const Options& options, const TrainingJob& job,
                     const std::function<int(const TrainingRun&)>& body) {
  const Walltime walltime(parse_walltime(options.max_walltime()));
  const SocketRanks sockets(options);
  const auto run = [&](Ranks& ranks) {
    sockets.take_place(ranks);
    std::optional<Options> of_set;
    if (!ranks.options().sets.empty())
      ranks.together([&] { read_options_of_set(options, ranks.options(), of_set.emplace()); });
    const Options& own = of_set ? *of_set : options;
    const bool writes_json = ranks.root() && job.writes_json && !own.log_json().empty();
    JsonLog json(writes_json ? own.log_json() : "");
    std::optional<WarningEvents> warnings;
    if (writes_json) warnings.emplace(json);
    try {
      return body({own, ranks, walltime, json});
    } catch (const Error& error) {
      log_error_event(json, error);
      throw;
    }
  };
  // Under MPI a rank has one GPU, and ranks find theirs together.
  size_t gpus = own_launch().ranks > 1 ? 1 : DeviceChoice(options).ordinals().size();
  if (gpus > 1 && solver_names_devices(options)) gpus = 1;  // the stages of one learner
  return run_job(job.ddl, run, std::max(static_cast<int>(gpus), sockets.count()));
}

TrainingSetup::TrainingSetup(const TrainingRun& run, const std::string& action)
    : options_(run.options), ranks_(run.ranks), devices_(run.options) {
  ranks_.together([&] {
    check_flags(options_, action);
    sigint_ = parse_effect("sigint_effect", options_.sigint_effect());
    sighup_ = parse_effect("sighup_effect", options_.sighup_effect());
    rate_factor(options_.lr_scaling(), 1);
    SolverOptions& solver = solver_options_;
    solver.kernels = options_.kernels();
    precision_from(options_.precision(), cpu_device(), nullptr);  // before anything is opened
    solver.share_memory = options_.share_memory();
    solver.ranks = &ranks_;
    solver.batch_is_global = options_.batch() == "global";
    solver.batch = solver.batch_is_global ? 0 : batch_flag(options_);
    solver.micro_batches = options_.micro_batches();
    solver.pipeline.order = pipeline_order_named(options_.pipeline());
    solver.data = data_settings(options_);
    solver.accept_batch_change = options_.accept_batch_change();
    solver.weights = split_list(options_.weights());
    solver.timeline = parse_timeline(options_.timeline());
    solver.tensorboard = tensorboard_options(options_);
    solver.json = &run.json;
    solver.walltime = &run.walltime;
  });
}

void TrainingSetup::read_definition() {
  ranks_.together([&] {
    phases_ = read_phases(options_.solver());
    for (SolverPhase& phase : phases_) complete(phase.solver);
    for (size_t later = 1; later < phases_.size(); ++later) check_phase(phases_[later]);
  });
  for (const SolverPhase& phase : phases_) check_same_program(ranks_, phase.solver);
  check_same_flags(ranks_, flags_of_the_job(options_));
  ranks_.root_only([&] { warn_of_ignored_fields(phases_, true); });
}

/// With what the command line says.
void TrainingSetup::complete(SolverDef& solver) const {
  caffe::NetState* state = solver.param.mutable_train_state();
  state->set_level(options_.level());
  for (const std::string& stage : stage_flag(options_)) state->add_stage(stage);
  scale_rate(solver);
}

void TrainingSetup::scale_rate(SolverDef& solver) const {
  if (options_.lr_scaling() == "none") return;
  const int learners = learners_of(solver, ranks_);
  const double factor = rate_factor(options_.lr_scaling(), learners);
  if (factor == 1) return;
  const float before = solver.param.base_lr();
  solver.param.set_base_lr(static_cast<float>(before * factor));
  for (float& rate : *solver.param.mutable_stagelr()) rate = static_cast<float>(rate * factor);
  LOG_INFO << "base_lr " << before << " -> " << solver.param.base_lr() << " (-lr_scaling " << options_.lr_scaling()
           << ", " << counted(learners, learners < ranks_.workers() ? "pipeline" : "rank") << ")";
}

void TrainingSetup::open_device(Timing timing) {
  devices_.follow(phases_[0].solver);
  bool staged = false;
  ranks_.together([&] { staged = trains_in_stages(); });
  if (staged) stages_ = devices_.open_all();
  nets_ = set_up_nets(options_, ranks_, staged ? stages_[0] : devices_.open(ranks_));
  if (timing == Timing::kNone) nets_.tuner.reset();
  solver_options_.device = nets_.device.get();
  solver_options_.memory = nets_.memory;
  if (staged) open_stages();
  solver_options_.tuner = nets_.tuner.get();
  solver_options_.precision = precision_from(options_.precision(), *nets_.device, nets_.tuner.get());
}

/// On several devices of this process.
bool TrainingSetup::trains_in_stages() const {
  if (!names_devices(phases_)) return false;
  if (!ranks_.alone()) return false;  // the solver gives each rank a stage, or refuses
  if (devices_.ordinals().size() > 1) return true;
  LOG_INFO << "`device` of layers changes nothing: one device trains all of them (-gpu lists those of a pipeline)";
  return false;
}

/// The host holds what is whole, and each GPU has its part of it.
void TrainingSetup::open_stages() {
  for (const std::shared_ptr<Device>& device : stages_) {
    solver_options_.pipeline.stages.push_back(
        {device.get(), device == stages_[0] ? nets_.memory : memory_options(options_, *device, 1)});
  }
  solver_options_.device = &cpu_device();
  solver_options_.memory = {};
}

size_t TrainingSetup::choose_snapshot() {
  std::string& snapshot = solver_options_.snapshot;
  uint64_t phase = 0;
  // Of ranks that come and go the first has the newest state, if any has one.
  if (const Elastic* const elastic = ranks_.elastic()) {
    phase = elastic->kept.phase;
    solver_options_.from_memory = elastic->kept.snapshot != nullptr;
    ranks_.broadcast_value(solver_options_.from_memory);
    ranks_.broadcast_value(phase);
    if (solver_options_.from_memory) return phase;
  }
  ranks_.root_only([&] {
    const Start start = start_from(options_.snapshot(), phases_, ranks_.count());
    snapshot = start.snapshot;
    phase = start.phase;
  });
  ranks_.broadcast(snapshot);
  ranks_.broadcast_value(phase);
  return phase;
}

std::unique_ptr<Solver> TrainingSetup::build_solver(size_t phase, const WeightsFile* handed_over) const {
  const SolverPhase& now = phases_[phase];
  SolverOptions options = solver_options_;
  options.phase = &now;
  if (handed_over) {
    options.handed_over = handed_over;
    options.snapshot.clear();
    options.from_memory = false;
    options.weights.clear();
  }
  return std::make_unique<Solver>(now.solver, options);
}

}  // namespace robusta
