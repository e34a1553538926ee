/// Files of text that people write: lists, tables, flags. Some editors begin each with UTF-8's byte order mark, which
/// belongs to no word.
#pragma once

#include <string>
#include <string_view>

#include "base/input_file.h"

namespace robusta {

inline void drop_byte_order_mark(std::string& text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

/// As read_input_file().
inline std::string read_input_text(const std::string& path, ErrorKind kind) {
  std::string text = read_input_file(path, kind);
  drop_byte_order_mark(text);
  return text;
}

}  // namespace robusta
