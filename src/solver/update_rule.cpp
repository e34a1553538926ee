#include "solver/update_rule.h"

#include <map>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

std::unique_ptr<UpdateRule> make_update_rule(const SolverDef& solver) {
  static const std::map<std::string, std::unique_ptr<UpdateRule> (*)(const SolverDef&)> kRules = {
      {"AdaDelta", make_adadelta}, {"AdaGrad", make_adagrad}, {"Adam", make_adam},
      {"Nesterov", make_nesterov}, {"RMSProp", make_rmsprop}, {"SGD", make_sgd},
  };
  const std::string& type = solver.param.type();
  const auto rule = kRules.find(type);
  if (rule != kRules.end()) return rule->second(solver);
  std::vector<std::string> names;
  std::string list;
  for (const auto& [name, make] : kRules) {
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + name;
  }
  if (type == "SAG") {
    throw Error(ErrorKind::kUnsupported, "solver type \"SAG\" (NVIDIA) is not in this build", "known: " + list)
        .at(solver.where("type"));
  }
  throw Error(ErrorKind::kConfig, str("unknown solver type \"", type, "\"", did_you_mean(type, names)),
              "known: " + list)
      .at(solver.where("type"));
}

}  // namespace robusta
