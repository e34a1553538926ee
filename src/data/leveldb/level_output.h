/// A new file of a LevelDB, written from front to back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace robusta {

class LevelOutput {
 public:
  /// Throws Error{kOutput}, as the rest does.
  LevelOutput(const std::string& folder, const std::string& name);

  /// Many small pieces are written at once.
  void append(std::string_view bytes);
  /// Bytes that have been appended.
  uint64_t size() const { return size_; }
  /// All is on the disk when it returns; nothing may follow.
  void close();

 private:
  void flush();

  Descriptor file_;
  std::string waiting_;
  uint64_t size_ = 0;
};

/// A log of one record, as walk_level_log() reads it.
std::string level_log_of(std::string_view record);

}  // namespace robusta
