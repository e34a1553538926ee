/// The line at the bottom of a terminal that shows how a long work goes.
///
/// While one lives and stderr is a terminal, log lines pass through it: the line is taken away, the log line written,
/// and the line drawn again. Elsewhere (a file, a pipe) it does nothing. Log lines may come from any thread.
#pragma once

#include <mutex>
#include <string>

#include "robusta/log.h"

namespace robusta {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool active() const { return active_; }
  /// Draws `text` in place, cut to the width of the terminal.
  void show(const std::string& text);

 private:
  void draw();
  void write(const LogLine& line);

  bool active_;
  LogSink log_;  ///< that of the process, which writes the lines
  std::mutex mutex_;
  std::string text_;
};

}  // namespace robusta
