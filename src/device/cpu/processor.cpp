// The first entry of /proc/cpuinfo (proc(5)): one processor stands for all.

#include "device/cpu/processor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>

#include "base/hash.h"
#include "base/str.h"

namespace robusta {
namespace {

/// What stands behind the colon of the first line of one of these names; empty where there is none.
std::string cpuinfo(std::initializer_list<std::string_view> names) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto is_of = [&](std::string_view name) { return line.starts_with(name); };
    if (std::none_of(names.begin(), names.end(), is_of) || line.find(':') == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

/// Those that kernels are written for, in the order of their names: a newer kernel of the system may list more.
std::string vector_instructions() {
  std::istringstream words(cpuinfo({"flags", "Features"}));
  std::set<std::string> found;
  for (std::string word; words >> word;) {
    const auto begins = [&](std::string_view family) { return word.starts_with(family); };
    constexpr std::array<std::string_view, 6> kFamilies{"avx", "fma", "amx", "asimd", "sve", "bf16"};
    if (std::any_of(kFamilies.begin(), kFamilies.end(), begins)) found.insert(word);
  }
  std::string all;
  for (const std::string& word : found) all += word + " ";
  return all;
}

/// In bytes, from the first level on; 0 where the system does not say.
std::string cache_sizes() {
  std::string all;
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    all += str(sysconf(level), " ");
  return all;
}

}  // namespace

bool has_instructions(const std::string& name) {
  std::istringstream words(cpuinfo({"flags", "Features"}));
  for (std::string word; words >> word;) {
    if (word == name) return true;
  }
  return false;
}

std::string processor_model() { return cpuinfo({"model name"}); }

std::string processor_digest() {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(hash_bytes(vector_instructions() + cache_sizes())));
  return text;
}

}  // namespace robusta
