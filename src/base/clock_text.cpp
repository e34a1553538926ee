// Hours are not cut at 24: a training of days shows them all.
#include "base/clock_text.h"

#include <cmath>
#include <cstdio>

namespace robusta {

std::string clock_text(double seconds) {
  const auto total = static_cast<long long>(std::isfinite(seconds) && seconds > 0 ? seconds + 0.5 : 0);
  char text[48];
  std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
  return text;
}

}  // namespace robusta
