/// Where the lines of the log go.
///
/// The library writes nothing to stderr or stdout by itself: without a sink its lines are dropped. A sink may be called
/// from several threads at once, and must not log; what it throws is lost with its line. Errors are thrown (error.h);
/// the log tells the story around them.
#pragma once

#include <functional>
#include <string_view>

#include "robusta/export.h"

namespace robusta {

enum class Severity { kInfo, kWarning, kError };

/// One line, without its end. All of it lives only while the sink is called.
struct LogLine {
  Severity severity;
  const char* file;  ///< the source file that logs, as the compiler was given it
  int line;
  std::string_view text;
};

using LogSink = std::function<void(const LogLine&)>;

/// Sets the sink of all threads that have none of their own; an empty one drops the lines. Returns the one before.
ROBUSTA_API LogSink set_log_sink(LogSink sink);

/// A sink for the lines of the thread that made it, while it lives; scopes nest.
class ROBUSTA_API LogScope {
 public:
  explicit LogScope(LogSink sink);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  LogSink sink_;
  const LogSink* before_;
};

}  // namespace robusta
