/// Numbers with their nouns.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// "1 net", "2 nets"
inline std::string counted(int64_t number, const std::string& noun) {
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

}  // namespace robusta
