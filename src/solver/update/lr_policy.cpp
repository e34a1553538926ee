// The registry of learning-rate policies. They register when the program is loaded, in any order.
#include "solver/update/lr_policy.h"

#include <map>

#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

std::map<std::string, LrPolicy (*)(const SolverDef&)>& policies() {
  static std::map<std::string, LrPolicy (*)(const SolverDef&)> all;
  return all;
}

}  // namespace

bool register_lr_policy(const std::string& name, LrPolicy (*make)(const SolverDef&)) {
  return policies().emplace(name, make).second;
}

std::vector<std::string> lr_policy_names() { return names_of(policies()); }

LrPolicy make_lr_policy(const SolverDef& solver) {
  return named(solver, "lr_policy", solver.param.lr_policy(), policies())(solver);
}

}  // namespace robusta
