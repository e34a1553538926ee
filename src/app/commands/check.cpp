#include <cstdlib>
#include <iostream>

#include "app/checks/check_report.h"
#include "app/checks/fabric.h"
#include "app/checks/input_checks.h"
#include "app/checks/label_checks.h"
#include "app/commands/commands.h"
#include "app/commands/flags.h"
#include "app/commands/training_flags.h"
#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "comm/liveness/exit_file.h"
#include "solver/ranks/job.h"
#include "solver/ranks/start_checks.h"

namespace robusta {
namespace {

/// -ddl or DDL_OPTIONS, with a timeout that lets the whole check end within a minute.
std::string impatient_options() {
  const char* variable = std::getenv("DDL_OPTIONS");
  const std::string given = !FLAGS_ddl.empty() ? FLAGS_ddl : variable ? variable : "";
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
                       ranks.topology().hosts[static_cast<size_t>(large.slowest_rank)], ", takes ",
                       large.slowest / large.fastest, " times as long as the fastest"),
                   "look at that host's link, and which network is used (--mca btl_tcp_if_include)"});
    }
  }
}

/// Builds what training would build. Returns null when that fails.
std::unique_ptr<Solver> check_definitions(Ranks& ranks, CheckReport& report) {
  SolverDef def;
  const bool same = report.run("program", [&] {
    ranks.together([&] { def = solver_from_flags(ranks.count()); });
    check_same_program(ranks, def);
    check_same_flags(ranks, flags_of_the_job());
    return str("version ", kVersion, ranks.alone() ? "" : ", solver, nets and options are the same on all ranks");
  });
  std::unique_ptr<Solver> solver;
  if (!same) return solver;
  report.run("nets", [&] {
    SolverOptions options = solver_options_from_flags(ranks);
    ranks.root_only([&] { options.snapshot = snapshot_from_flags(def, ranks.count()); });
    ranks.broadcast(options.snapshot);
    solver = std::make_unique<Solver>(def, options);
    return str(solver->train_net().name(), " and ",
               counted(static_cast<int64_t>(solver->test_nets().size()), "test net"), ", global batch ",
               solver->state().global_batch, ranks.alone() ? "" : "; data and buckets are the same on all ranks");
  });
  return solver;
}

int check(Ranks& ranks) {
  ranks.together([] { check_training_flags("check"); });
  const QuietLog quiet;
  CheckReport report(ranks, std::cout);
  check_hosts(ranks, report);
  const std::unique_ptr<Solver> solver = check_definitions(ranks, report);
  if (solver) {
    report.run("data", [&] { return check_data(ranks, *solver); });
    report.run("labels", [&] { return check_labels_fit(ranks, *solver); });
    report.run("snapshots", [&] { return check_disk(ranks, *solver); });
  } else {
    report.skip("data", "not looked at: there are no nets");
    report.skip("labels", "not looked at: there are no nets");
    report.skip("snapshots", "not looked at: there are no nets");
  }
  check_fabric(ranks, report);
  const int code = report.finish();
  if (code != 0 && ranks.root()) write_exit_file(code, 0, report.first_failure());
  return code;
}

}  // namespace

int check_command() { return run_job(impatient_options(), check); }

}  // namespace robusta
