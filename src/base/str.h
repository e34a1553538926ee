/// Building messages.
#pragma once

#include <sstream>
#include <string>

namespace robusta {

/// The arguments streamed one after the other: `str("axis ", 3, " of ", shape)`.
template <typename... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace robusta
