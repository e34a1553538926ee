// Zeros in front.

#include "data/convert/files.h"

namespace robusta {

std::string padded(int64_t number, int digits) {
  std::string text = std::to_string(number);
  const auto width = static_cast<size_t>(digits);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

}  // namespace robusta
