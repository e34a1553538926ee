#include "solver/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace robusta {
namespace {

constexpr const char* kClearLine = "\r\033[K";

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

size_t columns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

ProgressLine::ProgressLine() : active_(on_terminal()) {
  if (!active_) return;
  // glog writes to stderr before it calls its sinks, too late to clear the line: so the sink does the writing.
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
    google::SetLogSymlink(severity, "");
  }
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;  // none
  FLAGS_logtostderr = false;
  google::AddLogSink(this);
}

ProgressLine::~ProgressLine() {
  if (!active_) return;
  google::RemoveLogSink(this);
  FLAGS_logtostderr = true;
  std::fputs(kClearLine, stderr);
}

void ProgressLine::show(const std::string& text) {
  if (!active_) return;
  const std::lock_guard lock(mutex_);
  text_ = text;
  draw();
}

void ProgressLine::draw() {
  // The last column stays free: some terminals wrap when it is written.
  const std::string line = kClearLine + text_.substr(0, columns() - 1);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void ProgressLine::send(google::LogSeverity severity, const char*, const char* base_filename, int line,
                        const google::LogMessageTime& time, const char* message, size_t length) {
  const std::string text = ToString(severity, base_filename, line, time, message, length);
  const std::lock_guard lock(mutex_);
  std::fputs(kClearLine, stderr);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fputc('\n', stderr);
  if (!text_.empty()) draw();
}

}  // namespace robusta
