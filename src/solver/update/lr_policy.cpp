// The registry of learning-rate policies. They register when the program is loaded, in any order.
#include "solver/update/lr_policy.h"

#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "base/str.h"
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

std::vector<std::string> lr_policy_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : policies()) names.push_back(name);
  return names;
}

void require_known(const SolverDef& solver, const char* field, const std::string& given,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  refuse_setting(solver, field, str("unknown ", field, " \"", given, "\"", did_you_mean(given, known)),
                 "known: " + list);
}

LrPolicy make_lr_policy(const SolverDef& solver) {
  require_known(solver, "lr_policy", solver.param.lr_policy(), lr_policy_names());
  return policies().at(solver.param.lr_policy())(solver);
}

}  // namespace robusta
