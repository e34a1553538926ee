// Values of flags as text: what gflags accepts and prints, so that the command lines of every Caffe are read alike.

#include "app/flags/flag.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace robusta {
namespace {

/// Decimal, or hexadecimal after 0x. Leading blanks and a plus sign are no number to from_chars, as little as a rest.
template <typename Integer>
bool parse_integer(const std::string& text, Integer& value) {
  const bool negative = text.starts_with('-');
  const size_t sign = negative || text.starts_with('+') ? 1 : 0;
  const bool hexadecimal =
      text.size() > sign + 2 && text[sign] == '0' && (text[sign + 1] == 'x' || text[sign + 1] == 'X');
  std::string digits = negative ? "-" : "";
  digits += text.substr(sign + (hexadecimal ? 2 : 0));
  Integer parsed = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, parsed, hexadecimal ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != end) return false;
  value = parsed;
  return true;
}

}  // namespace

bool parse_flag(const std::string& text, std::string& value) {
  value = text;
  return true;
}

bool parse_flag(const std::string& text, bool& value) {
  std::string word = text;
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* yes : {"1", "t", "true", "y", "yes"}) {
    if (word == yes) return value = true;
  }
  for (const char* no : {"0", "f", "false", "n", "no"}) {
    if (word == no) return !(value = false);
  }
  return false;
}

bool parse_flag(const std::string& text, int32_t& value) { return parse_integer(text, value); }
bool parse_flag(const std::string& text, uint32_t& value) { return parse_integer(text, value); }
bool parse_flag(const std::string& text, uint64_t& value) { return parse_integer(text, value); }

bool parse_flag(const std::string& text, double& value) {
  char* end = nullptr;
  const double parsed = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || std::isnan(parsed)) return false;
  value = parsed;
  return true;
}

std::string flag_text(const std::string& value) { return value; }
std::string flag_text(bool value) { return value ? "true" : "false"; }
std::string flag_text(int32_t value) { return std::to_string(value); }
std::string flag_text(uint32_t value) { return std::to_string(value); }
std::string flag_text(uint64_t value) { return std::to_string(value); }

/// The shortest text that reads as the same number.
std::string flag_text(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace robusta
