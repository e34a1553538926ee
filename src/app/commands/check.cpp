// caffe check: the set-up of a training, step by step and reported as such, then data, labels, disk and network.

#include <filesystem>
#include <iostream>

#include "app/checks/check_report.h"
#include "app/checks/fabric.h"
#include "app/checks/input_checks.h"
#include "app/checks/label_checks.h"
#include "app/commands/commands.h"
#include "app/setup/training_setup.h"
#include "base/atomic_file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "comm/liveness/exit_file.h"

namespace robusta {
namespace {

/// -ddl or DDL_OPTIONS, with a timeout that lets the whole check end within a minute.
std::string impatient_options(const std::string& given) {
  return given.find("-timeout") == std::string::npos ? given + " -timeout 20" : given;
}

void check_hosts(Ranks& ranks, CheckReport& report) {
  std::vector<HostFacts> facts;
  report.run("ranks", [&] {
    facts = ranks.gather(own_facts());
    return ranks.alone() ? std::string("1, started alone") : str(ranks.count(), ", ", ranks.topology().describe());
  });
  if (!ranks.topology().warning.empty())
    report.warn({"rank file", ranks.topology().warning, "place the ranks so, or give -mode other dims"});
  const std::vector<std::string> hosts = ranks.alone() ? std::vector<std::string>{"this host"} : ranks.topology().hosts;
  for (const auto& warnings : {grant_warnings(own_grant(), ranks.count()), cores_warnings(facts, hosts),
                               memlock_warnings(facts), variable_warnings(facts)}) {
    for (const HostWarning& warning : warnings) report.warn(warning);
  }
}

void check_fabric(Ranks& ranks, CheckReport& report) {
  if (ranks.alone()) return report.skip("network", "one rank sends nothing");
  if (!report.run("reachability", [&] { return check_reachability(ranks); })) return;
  std::vector<FabricDimension> fabric;
  report.run("network", [&] {
    fabric = measure_fabric(ranks);
    return "sums over " + counted(static_cast<int64_t>(fabric.size()), "dimension");
  });
  for (const FabricDimension& dimension : fabric) {
    report.run("  " + dimension.name, [&] {
      return str(dimension.members, " ranks, ",
                 dimension.one_host ? "within a host: " : "over hosts: ", describe(dimension));
    });
    const FabricSpeed& large = dimension.speeds.back();
    constexpr double kUneven = 2;
    if (large.slowest > kUneven * large.fastest) {
      report.warn({"  " + dimension.name,
                   str("its groups are uneven: the slowest, with rank ", large.slowest_rank, " on ",
                       ranks.topology().host_of(large.slowest_rank), ", takes ", large.slowest / large.fastest,
                       " times as long as the fastest"),
                   "look at that host's link, and which network is used (--mca btl_tcp_if_include)"});
    }
  }
}

std::string describe(const Solver& solver, const Ranks& ranks, const std::string& net, size_t tests) {
  return str(net, " and ", counted(static_cast<int64_t>(tests), "test net"), ", global batch ",
             solver.state().global_batch, ranks.alone() ? "" : "; data and buckets are the same on all ranks");
}

/// Of a file of several phases, each by itself: from no weights, as nobody has trained them yet.
void check_phases(Ranks& ranks, const TrainingSetup& setup, CheckReport& report) {
  if (setup.phases() == 1) return;
  const WeightsFile none;
  for (size_t phase = 0; phase < setup.phases(); ++phase) {
    report.run(str("  phase ", phase), [&] {
      const std::unique_ptr<Solver> solver = setup.build_solver(phase, &none);
      return str("batch ", solver->train_net().batch(), ", max_iter ", solver->def().param.max_iter());
    });
  }
}

/// Builds what training would build. Returns null when that fails.
std::unique_ptr<Solver> check_set_up(Ranks& ranks, TrainingSetup& setup, CheckReport& report) {
  const bool same = report.run("program", [&] {
    setup.read_definition();
    return str("version ", kVersion, ranks.alone() ? "" : ", solver, nets and options are the same on all ranks");
  });
  const bool opened = same && report.run("device", [&] {
    setup.open_device(TrainingSetup::Timing::kNone);  // the check is to end within a minute
    std::string names;
    for (const StageDevice& stage : setup.solver_options().pipeline.stages)
      names += (names.empty() ? "" : ", ") + stage.device->name();
    return names.empty() ? setup.solver_options().device->name() : "a pipeline over " + names;
  });
  std::unique_ptr<Solver> solver;
  if (!opened) return solver;
  check_phases(ranks, setup, report);
  report.run("nets", [&] {
    solver = setup.build_solver(setup.choose_snapshot());
    return describe(*solver, ranks, solver->train_net().name(), solver->test_nets().size());
  });
  return solver;
}

void check_inputs(Ranks& ranks, Solver* solver, CheckReport& report) {
  if (solver) {
    report.run("data", [&] { return check_data(ranks, *solver); });
    report.run("labels", [&] { return check_labels_fit(ranks, *solver); });
    report.run("snapshots", [&] { return check_disk(ranks, *solver); });
    return;
  }
  for (const char* topic : {"data", "labels", "snapshots"}) report.skip(topic, "not looked at: there are no nets");
}

/// The folder is made when training begins, with those above it.
void require_events_can_be_written(const std::string& folder) {
  std::filesystem::path there = folder;
  while (there.has_parent_path() && there != there.parent_path() && !std::filesystem::exists(there)) {
    there = there.parent_path();
  }
  if (!std::filesystem::exists(there)) there = ".";
  require_writable_prefix("events for TensorBoard in", (there / "run").string());
}

int check(const TrainingRun& run) {
  const Options& options = run.options;
  Ranks& ranks = run.ranks;
  TrainingSetup setup(run, "check");
  ranks.root_only([&] {
    if (!options.log_json().empty()) require_writable_file("the log", options.log_json());
    if (!options.tensorboard().empty()) require_events_can_be_written(options.tensorboard());
  });
  const QuietLog quiet;
  CheckReport report(ranks, std::cout);
  check_hosts(ranks, report);
  const std::unique_ptr<Solver> solver = check_set_up(ranks, setup, report);
  check_inputs(ranks, solver.get(), report);
  check_fabric(ranks, report);
  const int code = report.finish();
  if (code != 0 && ranks.root()) write_exit_file(code, 0, report.first_failure());
  return code;
}

}  // namespace

int check_command(const Options& options) {
  return run_training_job(options, {.ddl = impatient_options(ddl_of_training(options))}, check);
}

}  // namespace robusta
