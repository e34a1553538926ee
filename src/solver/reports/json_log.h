/// A machine-readable log: one JSON object per event and line.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace robusta {

/// Builds one object, member by member.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  /// Numbers that are not finite become null.
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, int64_t value);
  JsonObject& add(std::string_view key, uint64_t value);
  JsonObject& add(std::string_view key, int value) { return add(key, static_cast<int64_t>(value)); }
  JsonObject& add(std::string_view key, bool value);
  JsonObject& add(std::string_view key, const JsonObject& value);
  /// `value` is JSON already, such as an array.
  JsonObject& add_raw(std::string_view key, std::string_view value);
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

/// Appends to a file; each line goes out in one write, so that a reader, or another process that appends, never sees a
/// part of one. Without a path it does nothing. Threads may write at the same time.
class JsonLog {
 public:
  /// Throws Error{kOutput} when the file cannot be opened.
  explicit JsonLog(const std::string& path);
  ~JsonLog();
  JsonLog(const JsonLog&) = delete;
  JsonLog& operator=(const JsonLog&) = delete;

  /// Writes {"event": event, "time": now, members...}. After a write that failed, which is logged, nothing
  /// more is written.
  void write(std::string_view event, const JsonObject& members);
  /// Writes an event "warning", behind the first event at the earliest: that tells which training begins, and in a file
  /// of several a warning before it would be one of the training before. An error is the last event, and comes behind.
  void warn(std::string_view message, std::string_view source);
  /// Throws Error{kOutput} when events were lost: for the end of what they tell of.
  void require_whole() const;

 private:
  void write_line(std::string_view event, const JsonObject& members);
  void write_early();

  mutable std::mutex mutex_;
  int fd_ = -1;  ///< -1: no log is wanted, or it has failed
  bool failed_ = false, begun_ = false;
  std::vector<JsonObject> early_;  ///< warnings that came before the first event
  std::string path_;
};

}  // namespace robusta
