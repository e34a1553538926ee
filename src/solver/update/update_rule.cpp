#include "solver/update/update_rule.h"

#include <map>
#include <utility>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

using RuleKey = std::pair<std::string, std::string>;

std::map<RuleKey, DeviceRule>& device_rules() {
  static std::map<RuleKey, DeviceRule> all;
  return all;
}

}  // namespace

bool register_device_rule(const std::string& kernel_kind, const std::string& rule, DeviceRule apply) {
  return device_rules().emplace(RuleKey{kernel_kind, rule}, apply).second;
}

DeviceRule device_rule(std::string_view kernel_kind, const std::string& rule) {
  const auto found = device_rules().find({std::string(kernel_kind), rule});
  if (found != device_rules().end()) return found->second;
  throw Error(ErrorKind::kUnsupported, str("solver type ", rule, " does not run on this device (", kernel_kind, ")"));
}

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
