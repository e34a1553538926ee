/// Lines of a log that comes in blocks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace robusta {

/// Never holds more than the longest line: an event may hold pictures, but what is longer than that is no line of a
/// log, and is passed over as a whole.
class LineCutter {
 public:
  static constexpr size_t kLongestLine = 32 << 20;

  /// Hands over the lines that end in this block, each without its end.
  void take(std::string_view block, const std::function<void(std::string_view)>& line);
  /// The last line, where it has no end.
  void finish(const std::function<void(std::string_view)>& line);

 private:
  std::string rest_;         ///< a line whose end has not come yet
  bool passing_by_ = false;  ///< that line is too long
};

}  // namespace robusta
