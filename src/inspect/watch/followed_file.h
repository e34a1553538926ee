/// The lines of a file that somebody else appends to.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace robusta {

class FollowedFile {
 public:
  /// Throws Error{kUsage} where there is no regular file.
  explicit FollowedFile(std::string path);

  /// Hands over the whole lines that came since the last call. True when there were any. A file that has become
  /// shorter, or another one of its name, is read from its beginning: `restart` is called first.
  bool read(const std::function<void(std::string_view)>& line, const std::function<void()>& restart);

 private:
  bool was_replaced() const;
  void open();

  std::string path_, rest_;  ///< rest_: a line whose end has not come yet
  Descriptor file_;
  int64_t at_ = 0;  ///< bytes read
};

}  // namespace robusta
