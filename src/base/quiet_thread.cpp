#include "base/quiet_thread.h"

#include <glog/logging.h>

#include <cstdio>

namespace robusta {
namespace {

thread_local int quiet = 0;

class StderrSink : public google::LogSink {
 public:
  StderrSink() {
    for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) google::SetLogDestination(severity, "");
    FLAGS_logtostderr = false;
    FLAGS_stderrthreshold = google::NUM_SEVERITIES;
    google::AddLogSink(this);
  }
  void send(google::LogSeverity severity, const char*, const char* file, int line, const google::LogMessageTime& time,
            const char* message, size_t length) override {
    if (quiet > 0 && severity < google::GLOG_ERROR) return;
    const std::string text = ToString(severity, file, line, time, message, length);
    std::fprintf(stderr, "%s\n", text.c_str());
  }
};

}  // namespace

QuietThread::QuietThread() {
  static StderrSink* const sink = new StderrSink;  // for as long as anybody may log
  static_cast<void>(sink);
  ++quiet;
}

QuietThread::~QuietThread() { --quiet; }

}  // namespace robusta
