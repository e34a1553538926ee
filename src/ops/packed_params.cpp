// Where packers are found.

#include "ops/packed_params.h"

#include <map>

namespace robusta {
namespace {

std::map<std::string, ParamPacker>& packers() {
  static std::map<std::string, ParamPacker> all;
  return all;
}

}  // namespace

bool register_param_packer(const std::string& kernel_kind, ParamPacker packer) {
  return packers().emplace(kernel_kind, packer).second;
}

const ParamPacker* find_param_packer(const std::string& kernel_kind) {
  const auto found = packers().find(kernel_kind);
  return found == packers().end() ? nullptr : &found->second;
}

}  // namespace robusta
