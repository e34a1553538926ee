/// What a file says, for messages: its beginning, without bytes that a terminal obeys.
#pragma once

#include <string>
#include <string_view>

namespace robusta {

inline std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 80;  ///< a line of a terminal
  std::string shown(text.substr(0, kMost));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text.size() > kMost ? shown + "..." : shown;
}

}  // namespace robusta
