// Numbers that make no training.
#include "solver/loop/solver_checks.h"

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/finite_fields.h"
#include "solver/reports/detection_score.h"
#include "solver/update/local_rates.h"
#include "solver/update/updater.h"
#include "solver/update/weight_average.h"

namespace robusta {
namespace {

void require(bool holds, const SolverDef& solver, const char* field, int value, const char* fix) {
  if (!holds) throw Error(ErrorKind::kConfig, str(field, " is ", value), fix).at(solver.where(field));
}

/// A comparison with what is no number is false: it would switch clipping off, or let every rate pass. What is infinite
/// makes every weight infinite, or none of them learn.
void refuse_not_finite(const SolverDef& solver) {
  const auto found = first_not_finite(solver.param, false);
  if (!found) return;
  throw Error(ErrorKind::kConfig, str(found->path, " is ", found->value), "give a finite number")
      .at(solver.where(found->path));
}

/// Numbers of iterations that lie before the first one.
void refuse_negative_iterations(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  require(p.warmup_iter() >= 0, solver, "warmup_iter", p.warmup_iter(), "give 0 for no warm-up");
  require(p.rampup_interval() >= 0, solver, "rampup_interval", p.rampup_interval(), "give 0 for no warm-up");
  for (const int value : p.stepvalue()) require(value >= 0, solver, "stepvalue", value, "give iterations from 0 on");
  for (const int value : p.stageiter()) require(value >= 0, solver, "stageiter", value, "give iterations from 0 on");
}

/// What every Caffe takes, and hardly anybody means.
void warn_of_odd_numbers(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  const auto warn = [&](bool odd, const char* field, float value, const char* effect) {
    if (odd) LOG_WARNING << solver.where(field) << ": " << field << " is " << value << ": " << effect;
  };
  warn(p.base_lr() < 0, "base_lr", p.base_lr(), "the loss is made larger, not smaller");
  warn(p.momentum() < 0 || p.momentum() >= 1, "momentum", p.momentum(),
       "values from 0 to below 1 let a training settle");
  warn(p.momentum2() < 0 || p.momentum2() >= 1, "momentum2", p.momentum2(),
       "values from 0 to below 1 let a training settle");
  warn(p.weight_decay() < 0, "weight_decay", p.weight_decay(), "the weights are made larger, not smaller");
  warn(p.delta() < 0, "delta", p.delta(), "a sum with it may be zero, and is divided by");
}

void check_evaluation(const SolverDef& solver) {
  const std::string& type = solver.param.eval_type();
  if (type != "classification" && type != "detection") {
    throw Error(ErrorKind::kConfig, str("eval_type is \"", type, "\""), "give classification or detection")
        .at(solver.where("eval_type"));
  }
  try {
    require_ap_version(solver.param.ap_version(), "ap_version", ErrorKind::kConfig);
  } catch (Error& error) {
    throw error.at(solver.where("ap_version"));
  }
}

}  // namespace

void check_solver(const SolverDef& solver) {
  const caffe::SolverParameter& p = solver.param;
  refuse_not_finite(solver);
  refuse_negative_iterations(solver);
  require(p.iter_size() > 0, solver, "iter_size", p.iter_size(), "give 1 or more");
  require(p.average_loss() > 0, solver, "average_loss", p.average_loss(), "give 1 or more");
  require(p.max_iter() >= 0, solver, "max_iter", p.max_iter(), "give the number of iterations");
  require(p.display() >= 0, solver, "display", p.display(), "give 0 for no display");
  require(p.snapshot() >= 0, solver, "snapshot", p.snapshot(), "give 0 for no periodic snapshots");
  require(p.test_interval() >= 0, solver, "test_interval", p.test_interval(), "give 0 for no tests");
  check_evaluation(solver);
  require(p.test_and_snapshot_last_epochs() >= 0, solver, "test_and_snapshot_last_epochs",
          p.test_and_snapshot_last_epochs(), "give the number of epochs, 0 for none");
  LocalRates(solver, *make_update_rule(solver));
  regularization_of(solver);
  if (p.ema_decay() != 0) checked_decay(solver);
  warn_of_odd_numbers(solver);
  if (p.disabled_update())
    LOG_WARNING << solver.where("disabled_update") << ": disabled_update: no parameter is updated";
  if (!p.has_base_lr() && p.lr_policy() != "multifixed") {
    LOG_WARNING << solver.file << ": base_lr is not set: the net will not learn";
  }
}

void check_served(const Training& training) {
  const ServerOptions& served = training.ranks.options().served;
  const auto refuse = [&](const std::string& what, const std::string& fix, const std::string& where) {
    throw Error(ErrorKind::kConfig, what, fix).at(where);
  };
  const SolverDef& solver = training.def;
  const caffe::SolverParameter& p = solver.param;
  if (training.state.loss_scale.active())
    refuse("gradients of f16 are scaled by what all ranks find finite, and parameter servers see those of one group",
           "take -precision bf16, whose gradients need no scale", solver.file);
  if (served.in_step()) return;
  if (training.schedule.needs_loss())
    refuse(str("lr_policy \"", p.lr_policy(), "\" looks at the loss of all ranks, which with -max_staleness ",
               served.max_staleness, " each group has its own of"),
           "take a policy that looks at the iteration alone, or -max_staleness 0", solver.where("lr_policy"));
}

void check_sharded_gradients(const Training& training) {
  const SolverDef& solver = training.def;
  const auto refuse = [&](const std::string& field, const std::string& what, const std::string& why) {
    throw Error(ErrorKind::kConfig, str("-shard gradients with ", what), why + ": take -ddl \"-shard states\"")
        .at(solver.where(field));
  };
  if (const int passes = solver.param.iter_size(); passes > 1)
    refuse("iter_size", str("iter_size ", passes), "gradients of several passes add up in memory for all of them");
  if (solver.param.debug_info())
    refuse("debug_info", "debug_info", "no rank has all gradients before the update, of which it shows the means");
}

void check_local_steps(const Training& training) {
  const auto refuse = [&](const std::string& what, const std::string& fix, const std::string& where) {
    throw Error(ErrorKind::kConfig, what, fix).at(where);
  };
  const SolverDef& solver = training.def;
  if (training.schedule.needs_loss())
    refuse(str("lr_policy \"", solver.param.lr_policy(),
               "\" looks at the loss of all ranks, which with -sync_every each group has its own of"),
           "take a policy that looks at the iteration alone, or leave -sync_every out", solver.where("lr_policy"));
  if (training.state.loss_scale.active())
    refuse("gradients of f16 are scaled by what all ranks find finite, and with -sync_every each group sees its own",
           "take -precision bf16, whose gradients need no scale, or leave -sync_every out", solver.file);
}

}  // namespace robusta
