// Both spellings of batch systems: seconds, and hours, minutes, seconds.
#include "solver/loop/walltime.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "robusta/error.h"

namespace robusta {

double parse_walltime(const std::string& text) {
  if (text.empty()) return 0;
  unsigned hours = 0, minutes = 0, seconds = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%9u:%2u:%2u%n", &hours, &minutes, &seconds, &used) == 3 &&
      used == static_cast<int>(text.size()) && minutes < 60 && seconds < 60) {
    return hours * 3600.0 + minutes * 60.0 + seconds;
  }
  char* end = nullptr;
  const double plain = std::strtod(text.c_str(), &end);
  if (end == text.c_str() + text.size() && plain > 0 && std::isfinite(plain)) return plain;
  throw Error(ErrorKind::kUsage, "-max_walltime \"" + text + "\" is no time", "give seconds, or HH:MM:SS");
}

}  // namespace robusta
