// Terminal control (ECMA-48): carriage return and "erase in line" take the progress line away before each log line.
#include "base/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace robusta {
namespace {

constexpr const char* kClearLine = "\r\033[K";  // to its beginning, and erase to its end (ECMA-48)

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
  log_ = set_log_sink([this](const LogLine& line) { write(line); });
}

ProgressLine::~ProgressLine() {
  if (!active_) return;
  set_log_sink(log_);
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

void ProgressLine::write(const LogLine& line) {
  const std::lock_guard lock(mutex_);
  std::fputs(kClearLine, stderr);
  if (log_) log_(line);
  if (!text_.empty()) draw();
}

}  // namespace robusta
