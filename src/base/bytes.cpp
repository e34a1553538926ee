// Units are powers of 1024, with or without the i.

#include "base/bytes.h"

#include <cctype>
#include <cstdlib>
#include <iomanip>
#include <sstream>

namespace robusta {

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 3) bytes /= 1024, ++unit;
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << bytes << " " << units[unit];
  return out.str();
}

size_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const double scale = unit == "G" || unit == "GB" || unit == "GIB"   ? 0x1p30
                       : unit == "M" || unit == "MB" || unit == "MIB" ? 0x1p20
                       : unit == "K" || unit == "KB" || unit == "KIB" ? 0x1p10
                       : unit.empty()                                 ? 1
                                                                      : 0;
  if (end == text.c_str() || !(number > 0) || number * scale > 0x1p60) return 0;
  return static_cast<size_t>(number * scale);
}

}  // namespace robusta
