// The log of the programs goes through glog.

#include "app/glog_sink.h"

#include <glog/logging.h>

#include "robusta/log.h"

namespace robusta {
namespace {

google::LogSeverity severity_in_glog(Severity severity) {
  if (severity == Severity::kError) return google::GLOG_ERROR;
  return severity == Severity::kWarning ? google::GLOG_WARNING : google::GLOG_INFO;
}

}  // namespace

void log_to_glog(const char* program) {
  FLAGS_logtostderr = true;          // and no files behind the user's back
  FLAGS_log_year_in_prefix = false;  // parsers of Caffe's logs expect I1122, not I20261122
  google::InitGoogleLogging(program);
  set_log_sink([](const LogLine& line) {
    google::LogMessage(line.file, line.line, severity_in_glog(line.severity)).stream() << line.text;
  });
}

}  // namespace robusta
