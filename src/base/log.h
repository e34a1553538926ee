/// Lines of the log: `LOG_INFO << "Iteration " << n;`, LOG_WARNING and LOG_ERROR alike.
///
/// A statement makes one line, which goes to the sink of its thread, else to that of the process (robusta/log.h) when
/// the statement ends. Nothing is formatted where nobody listens.
#pragma once

#include <optional>
#include <sstream>

#include "robusta/log.h"

namespace robusta {

/// Collects the text of one line and hands it to the sink when destroyed.
class LogMessage {
 public:
  LogMessage(Severity severity, const char* file, int line);
  ~LogMessage();
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;

  template <typename T>
  LogMessage& operator<<(const T& value) {
    if (text_) *text_ << value;
    return *this;
  }

 private:
  Severity severity_;
  const char* file_;
  int line_;
  std::optional<std::ostringstream> text_;  ///< none: nobody listens
};

/// While it lives, the lines of the thread that made it are dropped, errors excepted.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

}  // namespace robusta

#define LOG_INFO ::robusta::LogMessage(::robusta::Severity::kInfo, __FILE__, __LINE__)
#define LOG_WARNING ::robusta::LogMessage(::robusta::Severity::kWarning, __FILE__, __LINE__)
#define LOG_ERROR ::robusta::LogMessage(::robusta::Severity::kError, __FILE__, __LINE__)
