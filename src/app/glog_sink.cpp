// The log of the programs goes through glog. Nothing else knows glog, or gflags, which glog keeps its settings in.

#include "app/glog_sink.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include "robusta/log.h"

namespace robusta {
namespace {

google::LogSeverity severity_in_glog(Severity severity) {
  if (severity == Severity::kError) return google::GLOG_ERROR;
  return severity == Severity::kWarning ? google::GLOG_WARNING : google::GLOG_INFO;
}

/// gflags' own, which would do things of their own (-flagfile, -helpxml), are not offered.
std::string type_of_flag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  const bool known = gflags::GetCommandLineFlagInfo(name.c_str(), &info);
  return known && info.filename.find("gflags") == std::string::npos ? info.type : "";
}

bool set_flag(const std::string& name, const std::string& value) {
  return !gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty();
}

}  // namespace

ForeignFlags flags_of_glog() { return {type_of_flag, set_flag}; }

void log_to_glog(const char* program) {
  FLAGS_logtostderr = true;          // and no files behind the user's back
  FLAGS_log_year_in_prefix = false;  // parsers of Caffe's logs expect I1122, not I20261122
  google::InitGoogleLogging(program);
  set_log_sink([](const LogLine& line) {
    google::LogMessage(line.file, line.line, severity_in_glog(line.severity)).stream() << line.text;
  });
}

}  // namespace robusta
