// The lengths and ranges are those of table 3-7 of the Unicode standard, version 15.

#include "base/utf8.h"

namespace robusta {
namespace {

/// Bytes of the character that `text` begins with; 0: it begins with none.
size_t first_character(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  const unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < least || at(1) > most) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = first_character(text);
    out.append(length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd"));
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace robusta
