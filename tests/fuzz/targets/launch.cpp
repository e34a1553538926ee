// What launchers and batch systems leave in the environment: a line NAME=VALUE each.

#include "comm/launch.h"

#include <map>
#include <sstream>
#include <string>

#include "fuzz.h"

namespace robusta::fuzz {
namespace {

void read_environment(std::string_view input) {
  std::map<std::string, std::string> variables;
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    // The system knows no values with zeros.
    variables[line.substr(0, equals)] = line.substr(equals + 1).c_str();
  }
  const auto get = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  find_grant(get);
  const Launch launch = find_launch(get);
  for (const int world : {0, 1, 4}) reads([&] { check_launch(launch, world); });
}

[[maybe_unused]] const bool registered_launch = register_target("launch", read_environment);

}  // namespace
}  // namespace robusta::fuzz
