/// Shares as people read them.
#pragma once

#include <cstdio>
#include <string>

namespace robusta {

/// 0.306 is "30.6 %".
inline std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

}  // namespace robusta
