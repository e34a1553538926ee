// The nets are read once more, without a word, because what reaches the layers is filtered and upgraded already.

#include "solver/files/ignored.h"

#include <functional>
#include <vector>

#include "base/log.h"
#include "robusta/error.h"
#include "schema/ignored_fields.h"
#include "schema/read_text.h"
#include "solver/files/net_defs.h"

namespace robusta {
namespace {

void read_quietly(const std::function<void()>& read) {
  const QuietLog quiet;
  try {
    read();
  } catch (const Error&) {
    // Whoever trains reads it as well, and reports what is wrong.
  }
}

}  // namespace

void warn_of_ignored_fields(const std::vector<SolverPhase>& phases, bool trained) {
  const SolverDef& solver = phases.front().solver;
  std::vector<NetDef> nets;
  read_quietly([&] {
    nets.push_back(train_net_of(solver).net);
    if (!trained) return;
    for (NetSource& test : test_nets_of(solver)) nets.push_back(std::move(test.net));
  });
  IgnoredFieldWarnings warnings;
  for (const SolverPhase& phase : phases) warnings.look_at(phase.solver);
  for (const NetDef& net : nets) warnings.look_at(net);
}

void warn_of_ignored_fields(const SolverDef& solver, bool trained) {
  warn_of_ignored_fields(std::vector<SolverPhase>{{solver, 0, ""}}, trained);
}

void warn_of_ignored_fields_in(const std::string& net_file) {
  NetDef net;
  read_quietly([&] { net = read_net(net_file); });
  IgnoredFieldWarnings().look_at(net);
}

}  // namespace robusta
