// Solvers as text, of one phase and of several, up to a training that could begin.

#include "fuzz.h"
#include "schema/phases.h"
#include "schema/read_text.h"
#include "solver/files/net_defs.h"
#include "solver/loop/solver_checks.h"
#include "solver/update/schedule.h"

namespace robusta::fuzz {
namespace {

void read_solver_text(std::string_view input) {
  const std::string text(input);
  reads([&] { parse_phases(text, "solver.prototxt"); });
  const SolverDef solver = parse_solver(text, "solver.prototxt");
  reads([&] { check_solver(solver); });
  reads([&] { Schedule schedule(solver); });
  reads([&] { train_net_of(solver).definition(); });
  reads([&] {
    for (const NetSource& net : test_nets_of(solver)) net.definition();
  });
}

[[maybe_unused]] const bool registered_solver = register_target("solver", read_solver_text);

}  // namespace
}  // namespace robusta::fuzz
