/// The lines of a file that somebody else appends to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "inspect/runs/line_cutter.h"

namespace robusta {

class FollowedFile {
 public:
  /// Throws Error{kUsage} where there is no regular file.
  explicit FollowedFile(std::string path);

  /// Hands over the whole lines that came since the last call. True when there were any. A file that was written anew,
  /// or another one of its name, is read from its beginning, once what was left of the old one is read: `restart` is
  /// called first. A copy of the file that has the same beginning is the same file.
  bool read(const std::function<void(std::string_view)>& line, const std::function<void()>& restart);

 private:
  /// The file that has the path now, where that is another one; not open: it is not.
  Descriptor another_file() const;
  /// Begins as this one did when it was read.
  bool is_this_one(int file) const;
  bool is_shorter() const;
  void begin_again();
  bool read_on(const std::function<void(std::string_view)>& line);

  std::string path_;
  std::string beginning_;  ///< of what was read, by which the file is known
  Descriptor file_;
  LineCutter lines_;
  int64_t at_ = 0;  ///< bytes read
};

}  // namespace robusta
