// The pattern is taken apart once: no text of a user is ever given to printf.

#include "data/frame_names.h"

#include <algorithm>
#include <vector>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

FrameNames::FrameNames(std::string_view pattern, bool axes) : axes_(axes) {
  const auto fail = [&] {
    throw Error(ErrorKind::kConfig, str("\"", pattern, "\" is no pattern of the names of frames"),
                axes ? "write one like flow_%c_%05d.jpg, with x or y at %c" : "write one like img_%05d.jpg");
  };
  std::vector<std::string> parts(1);
  bool number = false, axis = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      parts.back() += pattern[at];
      continue;
    }
    size_t end = at + 1;
    while (end < pattern.size() && is_digit(pattern[end])) ++end;
    const std::string_view digits = pattern.substr(at + 1, end - at - 1);
    constexpr size_t kMostDigits = 2;
    const char kind = end < pattern.size() ? pattern[end] : '\0';
    if (kind == '%' && digits.empty()) {
      parts.back() += '%';
    } else if (kind == 'd' && !number && digits.size() <= kMostDigits) {
      number = true;
      zeros_ = digits.starts_with('0');
      for (const char c : digits) width_ = 10 * width_ + static_cast<size_t>(c - '0');
      parts.emplace_back();
    } else if (kind == 'c' && axes && !axis && digits.empty()) {
      axis = true;
      axis_first_ = !number;
      parts.emplace_back();
    } else {
      fail();
    }
    at = end;
  }
  if (!number || axis != axes) fail();
  parts.resize(3);
  before_ = parts[0];
  between_ = parts[1];
  behind_ = parts[2];
}

std::string FrameNames::name(int64_t frame, char axis) const {
  std::string number = std::to_string(frame);
  number.insert(0, width_ - std::min(width_, number.size()), zeros_ ? '0' : ' ');
  if (!axes_) return before_ + number + between_;
  return axis_first_ ? before_ + axis + between_ + number + behind_ : before_ + number + between_ + axis + behind_;
}

}  // namespace robusta
