// The buffer begins as zeros and its last byte stays one: a name that is cut still ends.

#include "comm/host_name.h"

#include <unistd.h>

#include <array>

namespace robusta {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace robusta
