/// A place in a text that is read from front to back, for parsers of src/data/convert.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/excerpt.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

class TextScanner {
 public:
  TextScanner(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool at_end() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool starts_with(std::string_view word) const { return rest_.starts_with(word); }
  int64_t line() const { return line_; }

  /// The next `count` characters.
  std::string_view take(size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    for (const char c : taken) line_ += c == '\n';
    rest_.remove_prefix(taken.size());
    return taken;
  }
  bool take_if(std::string_view word) {
    if (!starts_with(word)) return false;
    take(word.size());
    return true;
  }
  /// What comes before `end`, which is passed over.
  std::string_view take_until(std::string_view end, std::string_view what) {
    const size_t length = rest_.find(end);
    if (length == std::string_view::npos) fail(str(what, " has no end"));
    const std::string_view taken = take(length);
    take(end.size());
    return taken;
  }
  /// As long as `belongs` says so.
  template <typename Belongs>
  std::string_view take_while(const Belongs& belongs) {
    size_t length = 0;
    while (length < rest_.size() && belongs(rest_[length])) ++length;
    return take(length);
  }
  void skip_blanks() {
    take_while([](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  }
  void require(std::string_view word) {
    if (!take_if(word)) fail(str("\"", excerpt(rest_.substr(0, 20)), "\" stands where \"", word, "\" was expected"));
  }
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(ErrorKind::kData, cause, "correct the file, or leave it out of the list").at(str(name_, ":", line_));
  }

 private:
  std::string_view rest_;  ///< of the text, from here on
  const std::string& name_;
  int64_t line_ = 1;
};

/// Appends a character as UTF-8. Returns false for what is none.
inline bool append_utf8(uint32_t code, std::string& text) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  if (code < 0x80) {
    text += static_cast<char>(code);
    return true;
  }
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};  ///< how a first byte begins that so many follow (RFC 3629)
  text += static_cast<char>(kFirst[following] | (code >> (6 * following)));
  for (int i = following - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  return true;
}

}  // namespace robusta
