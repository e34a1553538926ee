/// The lines of the log, for tests that look at what is said.
#pragma once

#include <mutex>
#include <string>

#include "robusta/log.h"

namespace robusta::test {

/// Keeps the lines of all threads that have no sink of their own, while it lives.
class LogLines {
 public:
  LogLines()
      : before_(set_log_sink([this](const LogLine& line) {
          const std::lock_guard lock(mutex_);
          text_.append(line.text) += '\n';
        })) {}
  ~LogLines() { set_log_sink(before_); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  /// So far, each with its end.
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  LogSink before_;
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace robusta::test
