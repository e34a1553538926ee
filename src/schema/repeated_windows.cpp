// Words of the text, outside of comments and strings, with the depth of braces.

#include "schema/repeated_windows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace robusta {
namespace {

constexpr std::array<std::string_view, 3> kWindows{"kernel_size", "stride", "pad"};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Behind the comment or string that begins at `at`; `at` where none does.
size_t behind_other_text(const std::string& text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// Where fields of one pooling_param that say a window are named, and whether one of them is said more than once.
struct Windows {
  std::vector<size_t> ends;  ///< behind each name
  std::array<int, 3> given{};
  bool repeated = false;

  void add(std::string_view name, const std::string& text, size_t end) {
    const auto found = std::ranges::find(kWindows, name);
    if (found == kWindows.end()) return;
    ends.push_back(end);
    repeated |= ++given[static_cast<size_t>(found - kWindows.begin())] > 1;
    const size_t value = text.find_first_not_of(" \t\r\n:", end);
    repeated |= value != std::string::npos && text[value] == '[';
  }
};

/// Of the message whose brace is the last character before `at`. Sets `at` behind it.
Windows read_windows(const std::string& text, size_t& at) {
  Windows windows;
  for (int depth = 1; at < text.size() && depth > 0;) {
    if (const size_t behind = behind_other_text(text, at); behind > at) {
      at = behind;
      continue;
    }
    depth += (text[at] == '{') - (text[at] == '}');
    const size_t begin = at;
    while (at < text.size() && in_word(text[at])) ++at;
    if (at == begin) {
      ++at;
    } else if (depth == 1) {
      windows.add(std::string_view(text).substr(begin, at - begin), text, at);
    }
  }
  return windows;
}

}  // namespace

std::string name_repeated_windows(std::string text) {
  constexpr std::string_view kMessage = "pooling_param";
  std::vector<size_t> ends;
  for (size_t at = 0; at < text.size();) {
    if (const size_t behind = behind_other_text(text, at); behind > at) {
      at = behind;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && in_word(text[at])) ++at;
    const bool message = std::string_view(text).substr(begin, at - begin) == kMessage;
    if (at == begin) ++at;
    if (!message) continue;
    const size_t brace = text.find_first_not_of(" \t\r\n:", at);
    if (brace == std::string::npos || text[brace] != '{') continue;
    at = brace + 1;
    const Windows windows = read_windows(text, at);
    if (windows.repeated) ends.insert(ends.end(), windows.ends.begin(), windows.ends.end());
  }
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) text.insert(*end, "_3d");
  return text;
}

}  // namespace robusta
