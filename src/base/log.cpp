// The sinks of the process and of its threads.

#include "base/log.h"

#include <memory>
#include <mutex>
#include <utility>

namespace robusta {
namespace {

/// The sink of the process. A line that is being written keeps the sink it began with alive.
struct ProcessSink {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink = std::make_shared<const LogSink>();
};

/// Never destroyed: threads may log while the process ends.
ProcessSink& process_sink() {
  static auto* const process = new ProcessSink;
  return *process;
}

std::shared_ptr<const LogSink> current_process_sink() {
  ProcessSink& process = process_sink();
  const std::lock_guard lock(process.mutex);
  return process.sink;
}

thread_local const LogSink* thread_sink = nullptr;
thread_local int quiet_scopes = 0;

/// Whether a line of this severity, logged by this thread, reaches anybody.
bool somebody_listens(Severity severity) {
  if (quiet_scopes > 0 && severity != Severity::kError) return false;
  return thread_sink ? static_cast<bool>(*thread_sink) : static_cast<bool>(*current_process_sink());
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(std::move(sink));
  ProcessSink& process = process_sink();
  const std::lock_guard lock(process.mutex);
  std::swap(process.sink, next);
  return *next;
}

LogScope::LogScope(LogSink sink) : sink_(std::move(sink)), before_(std::exchange(thread_sink, &sink_)) {}
LogScope::~LogScope() { thread_sink = before_; }

QuietLog::QuietLog() { ++quiet_scopes; }
QuietLog::~QuietLog() { --quiet_scopes; }

LogMessage::LogMessage(Severity severity, const char* file, int line) : severity_(severity), file_(file), line_(line) {
  if (somebody_listens(severity)) text_.emplace();
}

LogMessage::~LogMessage() {
  if (!text_) return;
  const std::string text = text_->str();
  const LogLine line{severity_, file_, line_, text};
  try {
    if (thread_sink) {
      (*thread_sink)(line);
    } else if (const auto sink = current_process_sink(); *sink) {
      (*sink)(line);
    }
  } catch (...) {
    // A destructor must not throw, and there is nobody to tell: the line is lost, the work goes on.
  }
}

}  // namespace robusta
