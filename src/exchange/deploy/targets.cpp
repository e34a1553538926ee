// The names, in the order of the bits.

#include "exchange/deploy/targets.h"

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta::deploy {

std::vector<std::string> toolchain_names() {
  return {"opencv", "ncnn", "mnn", "openvino", "rknn", "tpu-mlir", "ascend", "nnie", "horizon", "acuity", "netron"};
}

std::string toolchains_text(uint32_t set) {
  if (set == kAll) return "all";
  std::string text;
  const std::vector<std::string> names = toolchain_names();
  for (size_t bit = 0; bit < names.size(); ++bit) {
    if (set & (1u << bit)) text += (text.empty() ? "" : ", ") + names[bit];
  }
  return text;
}

uint32_t toolchains_named(const std::string& name) {
  if (name.empty()) return 0;
  if (name == "any") return kAll;
  std::vector<std::string> names = toolchain_names();
  for (size_t bit = 0; bit < names.size(); ++bit) {
    if (names[bit] == name) return 1u << bit;
  }
  names.push_back("any");
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw Error(ErrorKind::kUsage, str("-target ", name, " is unknown", did_you_mean(name, names)),
              "give one of " + list);
}

}  // namespace robusta::deploy
