// The sink is the one of the process with an ear: threads that warn at the same time take turns. Other
// severities pass by without a lock: a log of events that fails says so in the log, and waits for nobody.

#include "solver/reports/warning_events.h"

#include <filesystem>

#include "base/str.h"

namespace robusta {

void WarningEvents::Seen::take(const LogLine& line) {
  const std::string source = str(std::filesystem::path(line.file).filename().string(), ':', line.line);
  const std::lock_guard lock(mutex);
  if (!json || of_source[source] >= kMostOfASource || !words.insert(std::string(line.text)).second) return;
  ++of_source[source];
  json->warn(line.text, source);
}

WarningEvents::WarningEvents(JsonLog& json) : seen_(std::make_shared<Seen>()) {
  seen_->json = &json;
  before_ = set_log_sink({});
  set_log_sink([seen = seen_, before = before_](const LogLine& line) {
    if (before) before(line);
    if (line.severity == Severity::kWarning) seen->take(line);
  });
}

WarningEvents::~WarningEvents() {
  set_log_sink(before_);
  const std::lock_guard lock(seen_->mutex);
  seen_->json = nullptr;
}

}  // namespace robusta
