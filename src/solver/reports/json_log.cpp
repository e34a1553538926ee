// One write per line in append mode, which POSIX makes atomic with regard to other writers' offsets.
//
// A line is an object whose first members are "event" and "time" (UTC, ISO 8601). Numbers have 9 digits, which tell any
// two floats apart; what JSON has no number for is null.
// Text is UTF-8, as RFC 8259 wants it: a byte of a name that is none becomes U+FFFD.
#include "solver/reports/json_log.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/output_place.h"
#include "base/utf8.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : as_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out += '"';
}

/// "2026-01-31T12:00:00.123Z"
std::string utc_now() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto millis = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[64];
  const size_t used = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + used, sizeof text - used, ".%03dZ", static_cast<int>(millis));
  return text;
}

}  // namespace

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view value) {
  if (!members_.empty()) members_ += ", ";
  members_ += quoted(key);
  members_ += ": ";
  members_ += value;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) { return add_raw(key, quoted(value)); }

JsonObject& JsonObject::add(std::string_view key, double value) {
  if (!std::isfinite(value)) return add_raw(key, "null");
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return add_raw(key, text);
}

JsonObject& JsonObject::add(std::string_view key, int64_t value) { return add_raw(key, std::to_string(value)); }
JsonObject& JsonObject::add(std::string_view key, uint64_t value) { return add_raw(key, std::to_string(value)); }
JsonObject& JsonObject::add(std::string_view key, bool value) { return add_raw(key, value ? "true" : "false"); }
JsonObject& JsonObject::add(std::string_view key, const JsonObject& value) { return add_raw(key, value.text()); }

JsonLog::JsonLog(const std::string& path) : path_(path) {
  if (path.empty()) return;
  fd_ = open_for_appending("cannot write the log", path);
}

JsonLog::~JsonLog() {
  if (fd_ >= 0) ::close(fd_);
}

void JsonLog::write(std::string_view event, const JsonObject& members) {
  const std::lock_guard lock(mutex_);
  if (event == "error") write_early();
  write_line(event, members);
  write_early();
}

void JsonLog::warn(std::string_view message, std::string_view source) {
  const std::lock_guard lock(mutex_);
  const JsonObject members = JsonObject().add("message", message).add("source", source);
  if (begun_) return write_line("warning", members);
  if (fd_ >= 0) early_.push_back(members);
}

void JsonLog::write_early() {
  begun_ = true;
  for (const JsonObject& members : early_) write_line("warning", members);
  early_.clear();
}

void JsonLog::write_line(std::string_view event, const JsonObject& members) {
  if (fd_ < 0) return;
  JsonObject head;
  head.add("event", event).add("time", utc_now());
  std::string line = head.text();
  if (const std::string rest = members.text(); rest != "{}") {
    line.back() = ',';
    line += ' ' + rest.substr(1);
  }
  line += '\n';
  try {
    write_all(fd_, line.data(), line.size());
  } catch (const Error& error) {
    LOG_ERROR << path_ << ": " << error.what() << "; no further events are written";
    ::close(fd_);
    fd_ = -1;
    failed_ = true;
  }
}

void JsonLog::require_whole() const {
  const std::lock_guard lock(mutex_);
  if (!failed_) return;
  throw Error(ErrorKind::kOutput, "the work is done, but events could not be written to " + path_,
              "see the log; free some space or write elsewhere");
}

}  // namespace robusta
