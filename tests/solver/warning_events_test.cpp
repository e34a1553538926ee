// Warnings of the log as events: which ones, and where they stand among the others.
#include <gtest/gtest.h>

#include <fstream>

#include "base/log.h"
#include "data/convert/text_tree.h"
#include "solver/reports/warning_events.h"
#include "support/files.h"

namespace robusta::test::warning_events_test {
namespace {

/// "kind: message" of each event.
std::vector<std::string> events_in(const std::string& path) {
  std::vector<std::string> events;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const TextTree event = parse_json(line, path);
    const TextTree* message = event.find("message");
    events.push_back(event.find("event")->text + (message ? ": " + message->text : ""));
  }
  return events;
}

void warn(const std::string& text) { LOG_WARNING << text; }

TEST(WarningEvents, StandBehindTheStartAndComeOnce) {
  const TempDir folder;
  const std::string path = folder / "log.json";
  {
    JsonLog json(path);
    const WarningEvents events(json);
    warn("early \xe9");
    LOG_INFO << "no warning";
    json.write("start", JsonObject());
    warn("late");
    warn("late");
    warn("early \xe9");
    LOG_ERROR << "an error has an event of its own";
    json.write("end", JsonObject());
  }
  warn("nobody listens");
  EXPECT_EQ(events_in(path),
            (std::vector<std::string>{"start", "warning: early \xef\xbf\xbd", "warning: late", "end"}));
}

TEST(WarningEvents, OfATrainingThatFailsComeBeforeItsError) {
  const TempDir folder;
  const std::string path = folder / "log.json";
  JsonLog json(path);
  const WarningEvents events(json);
  warn("why");
  json.write("error", JsonObject());
  EXPECT_EQ(events_in(path), (std::vector<std::string>{"warning: why", "error"}));
}

TEST(WarningEvents, AreFewOfOneSourceAndTheLogGetsAll) {
  const TempDir folder;
  const std::string path = folder / "log.json";
  int lines = 0;
  const LogSink before = set_log_sink([&](const LogLine&) { ++lines; });
  {
    JsonLog json(path);
    json.write("start", JsonObject());
    const WarningEvents events(json);
    for (int i = 0; i < 1000; ++i) warn(std::to_string(i));
    LOG_WARNING << "of another source";
  }
  set_log_sink(before);
  EXPECT_EQ(lines, 1001);
  const std::vector<std::string> events = events_in(path);
  EXPECT_EQ(std::ssize(events), 1 + WarningEvents::kMostOfASource + 1);
  EXPECT_EQ(events.back(), "warning: of another source");
}

}  // namespace
}  // namespace robusta::test::warning_events_test
