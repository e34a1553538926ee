/// The line at the bottom of a terminal that shows how training goes.
///
/// While one lives and stderr is a terminal, log lines pass through it: the line is taken away, the log line written,
/// and the line drawn again. Elsewhere (a file, a pipe) it does nothing. Log lines may come from any thread.
#pragma once

#include <mutex>
#include <string>

#include <glog/logging.h>

namespace robusta {

class ProgressLine : public google::LogSink {
 public:
  ProgressLine();
  ~ProgressLine() override;

  bool active() const { return active_; }
  /// Draws `text` in place, cut to the width of the terminal.
  void show(const std::string& text);

  void send(google::LogSeverity severity, const char* full_filename, const char* base_filename, int line,
            const google::LogMessageTime& time, const char* message, size_t length) override;

 private:
  void draw();

  bool active_;
  std::mutex mutex_;
  std::string text_;
};

}  // namespace robusta
