/// Everything between the command line and the first iteration, step by step, for `train` and `check` alike: what one
/// refuses, the other does.
///
/// The steps are called in the order in which they stand here. All are collective, and throw on all ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/flags/options.h"
#include "app/setup/devices.h"
#include "app/setup/net_setup.h"
#include "schema/phases.h"
#include "solver/solver.h"

namespace robusta {

/// What a process has once, whatever the number of its learners.
struct TrainingRun {
  const Options& options;  ///< those of the command line, or what they are to this rank's set (-ddl "-sets")
  Ranks& ranks;
  const Walltime& walltime;
  JsonLog& json;
};

struct TrainingJob {
  std::string ddl;           ///< options of training over ranks, as of -ddl
  bool writes_json = false;  ///< rank 0 appends its events to -log_json
};

/// What the flags are to one of several sets of ranks: -solver lists a solver for each; files that a training writes
/// beside its snapshots have the set in their names ("log.json", "log.set1.json"). Throws Error{kUsage}.
void read_options_of_set(const Options& all, const DdlOptions& ddl, Options& own);

/// The words of -ddl with Intel's -n_group and -n_server among them.
std::string ddl_of_training(const Options& options);

/// Runs `body` on this process's ranks: as many learners as -gpu lists GPUs or -sockets asks for, one under MPI.
/// Returns the exit code.
int run_training_job(const Options& options, const TrainingJob& job,
                     const std::function<int(const TrainingRun&)>& body);

class TrainingSetup {
 public:
  /// Looks at the flags alone. `action` is named in errors. Everything referred to outlives the setup.
  TrainingSetup(const TrainingRun& run, const std::string& action);

  /// Reads the solver and its nets, which have to be the same on all ranks, as do the flags; all phases, where the file
  /// has several (schema/phases.h).
  void read_definition();
  /// The solver of the first phase, for whoever wants another training than the file's. Between read_definition() and
  /// build_solver().
  SolverDef& first_solver() { return phases_.front().solver; }
  /// The device, its memory and who times kernels on it.
  enum class Timing { kAsTheFlagsSay, kNone };
  void open_device(Timing timing = Timing::kAsTheFlagsSay);
  size_t phases() const { return phases_.size(); }
  /// Decides what to resume from. Returns the phase that this is in.
  size_t choose_snapshot();
  /// Builds the nets of a phase, loads weights or restores: those of the command line in the first phase that is built,
  /// in later ones `handed_over`, on rank 0, of the one before. It is to be kept.
  std::unique_ptr<Solver> build_solver(size_t phase, const WeightsFile* handed_over = nullptr) const;

  /// What signals do, by -sigint_effect and -sighup_effect.
  Request sigint() const { return sigint_; }
  Request sighup() const { return sighup_; }
  /// To be completed before build_solver().
  SolverOptions& solver_options() { return solver_options_; }

 private:
  void complete(SolverDef& solver) const;
  void scale_rate(SolverDef& solver) const;
  bool trains_in_stages() const;
  void open_stages();

  const Options& options_;
  Ranks& ranks_;
  Request sigint_, sighup_;  ///< what -sigint_effect and -sighup_effect ask for
  DeviceChoice devices_;
  std::vector<std::shared_ptr<Device>> stages_;  ///< of a pipeline; none: one device trains
  NetSetup nets_;
  SolverOptions solver_options_;
  std::vector<SolverPhase> phases_;  ///< one, but for files of several
};

}  // namespace robusta
