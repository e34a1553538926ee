// Most lines lie within a block, and are handed over where they are.

#include "inspect/runs/line_cutter.h"

namespace robusta {

void LineCutter::take(std::string_view block, const std::function<void(std::string_view)>& line) {
  for (size_t end = block.find('\n'); end != std::string_view::npos; end = block.find('\n')) {
    const std::string_view part = block.substr(0, end);
    block.remove_prefix(end + 1);
    const bool too_long = passing_by_ || rest_.size() + part.size() > kLongestLine;
    if (!too_long && rest_.empty()) {
      line(part);
    } else if (!too_long) {
      line(rest_.append(part));
    }
    rest_.clear();
    passing_by_ = false;
  }
  if (passing_by_ || rest_.size() + block.size() > kLongestLine) {
    passing_by_ = true;
    rest_ = std::string();
  } else {
    rest_.append(block);
  }
}

void LineCutter::finish(const std::function<void(std::string_view)>& line) {
  if (!rest_.empty()) line(rest_);
  rest_.clear();
  passing_by_ = false;
}

}  // namespace robusta
