/// The words of a window file, with the number of the line that each stands in: numbers that are checked as they are
/// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace robusta {

class WindowWords {
 public:
  /// Of images and windows, so that sums and products stay in range.
  static constexpr int64_t kMostSide = 1 << 24;

  /// Reads the file. `fix`: what to write in it, for messages. Throws Error{kData}.
  WindowWords(const std::string& file, std::string fix);

  /// False at the end.
  bool next();
  /// The next word. Throws Error{kData} at the end.
  std::string_view word(const char* what);
  /// The same, as a number in least .. most. Throws Error{kData}.
  int64_t whole(const char* what, int64_t least, int64_t most);
  /// The same, as any finite number.
  float fraction(const char* what);

  bool is(std::string_view word) const { return word_ == word; }
  int64_t line() const { return line_; }
  /// Throws Error{kData} at the line of the last word.
  [[noreturn]] void fail(const std::string& cause) const;

 private:
  std::string file_, fix_, text_;
  std::string_view word_;
  size_t at_ = 0;  ///< in text_, behind word_
  int64_t line_ = 1;
};

}  // namespace robusta
