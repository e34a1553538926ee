// Word by word, between blanks and ends of lines.

#include "data/window_words.h"

#include <charconv>
#include <cmath>

#include "base/excerpt.h"
#include "base/input_text.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

WindowWords::WindowWords(const std::string& file, std::string fix)
    : file_(file), fix_(std::move(fix)), text_(read_input_text(file, ErrorKind::kData)) {}

bool WindowWords::next() {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  for (; at_ < text_.size() && is_blank(text_[at_]); ++at_) line_ += text_[at_] == '\n';
  const size_t begin = at_;
  while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
  word_ = std::string_view(text_).substr(begin, at_ - begin);
  return !word_.empty();
}

std::string_view WindowWords::word(const char* what) {
  if (!next()) fail(str("the file ends where ", what, " should stand"));
  return word_;
}

int64_t WindowWords::whole(const char* what, int64_t least, int64_t most) {
  word(what);
  int64_t value = 0;
  const auto [end, code] = std::from_chars(word_.data(), word_.data() + word_.size(), value);
  if (code != std::errc() || end != word_.data() + word_.size() || value < least || value > most)
    fail(str("\"", excerpt(word_), "\" is no ", what));
  return value;
}

float WindowWords::fraction(const char* what) {
  word(what);
  float value = 0;
  const auto [end, code] = std::from_chars(word_.data(), word_.data() + word_.size(), value);
  if (code != std::errc() || end != word_.data() + word_.size() || !std::isfinite(value))
    fail(str("\"", excerpt(word_), "\" is no ", what));
  return value;
}

void WindowWords::fail(const std::string& cause) const {
  throw Error(ErrorKind::kData, cause, fix_).at(str(file_, ":", line_));
}

}  // namespace robusta
