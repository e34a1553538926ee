// The registry of update rules. Rules register when the program is loaded, in any order; names are looked up later.
#include "solver/update/update_rule.h"

#include <map>
#include <utility>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/known_names.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

std::map<std::string, RuleFactory>& factories() {
  static std::map<std::string, RuleFactory> all;
  return all;
}

using DeviceAndType = std::pair<std::string, std::string>;

std::map<DeviceAndType, DeviceRule>& device_rules() {
  static std::map<DeviceAndType, DeviceRule> all;
  return all;
}

std::map<DeviceAndType, TabledRule>& tabled_rules() {
  static std::map<DeviceAndType, TabledRule> all;
  return all;
}

[[noreturn]] void refuse_type(const SolverDef& solver) {
  const std::string& type = solver.param.type();
  const std::vector<std::string> known = update_rule_types();
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  if (const auto whose = who_knows_rule(type)) {
    throw not_in_this_build(str("solver type \"", type, "\""), *whose, "known: " + list).at(solver.where("type"));
  }
  throw Error(ErrorKind::kConfig, str("unknown solver type \"", type, "\"", did_you_mean(type, known)),
              "known: " + list)
      .at(solver.where("type"));
}

}  // namespace

bool register_update_rule(const std::string& type, RuleFactory make) {
  return factories().emplace(type, std::move(make)).second;
}

std::vector<std::string> update_rule_types() { return names_of(factories()); }

std::unique_ptr<UpdateRule> make_update_rule(const SolverDef& solver) {
  const auto found = factories().find(solver.param.type());
  if (found == factories().end()) refuse_type(solver);
  return found->second(solver);
}

bool register_device_rule(const std::string& kernel_kind, const std::string& type, DeviceRule apply) {
  return device_rules().emplace(DeviceAndType{kernel_kind, type}, apply).second;
}

DeviceRule device_rule(std::string_view kernel_kind, const std::string& type) {
  const auto found = device_rules().find({std::string(kernel_kind), type});
  if (found != device_rules().end()) return found->second;
  throw Error(ErrorKind::kUnsupported, str("solver type ", type, " does not run on this device (", kernel_kind, ")"));
}

bool register_tabled_rule(const std::string& kernel_kind, const std::string& type, const TabledRule& rule) {
  return tabled_rules().emplace(DeviceAndType{kernel_kind, type}, rule).second;
}

const TabledRule* find_tabled_rule(std::string_view kernel_kind, const std::string& type) {
  const auto found = tabled_rules().find({std::string(kernel_kind), type});
  return found == tabled_rules().end() ? nullptr : &found->second;
}

void require_no_momentum(const SolverDef& solver) {
  const float momentum = solver.param.momentum();
  if (momentum == 0 && solver.param.momentum_policy() == "fixed") return;
  throw Error(ErrorKind::kConfig, str("momentum ", momentum, " with solver type ", solver.param.type()),
              str(solver.param.type(), " has no momentum: remove it or set it to 0"))
      .at(solver.where("momentum"));
}

}  // namespace robusta
