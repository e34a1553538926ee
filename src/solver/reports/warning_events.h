/// Warnings of the log as events of -log_json, where reports find them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "robusta/log.h"
#include "solver/reports/json_log.h"

namespace robusta {

/// While it lives, each warning that reaches the log of the process is an event, too: {"event": "warning", "message",
/// "source": "file:line"}. The same words once, and of one source kMostOfASource at most: a warning of every iteration
/// must not fill a disk. The log of the process gets all of them, as before.
class WarningEvents {
 public:
  static constexpr int kMostOfASource = 20;

  explicit WarningEvents(JsonLog& json);
  ~WarningEvents();
  WarningEvents(const WarningEvents&) = delete;
  WarningEvents& operator=(const WarningEvents&) = delete;

 private:
  /// Outlives the scope while another thread is in the midst of a line.
  struct Seen {
    std::mutex mutex;
    JsonLog* json;  ///< null: the scope has ended
    std::set<std::string> words;
    std::map<std::string, int> of_source;

    void take(const LogLine& line);
  };

  std::shared_ptr<Seen> seen_;
  LogSink before_;
};

}  // namespace robusta
