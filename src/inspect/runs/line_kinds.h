/// The two kinds of lines that a RunLogReader takes.
#pragma once

#include <string>
#include <string_view>

#include "data/convert/text_tree.h"
#include "inspect/runs/runs_so_far.h"

namespace robusta {

/// Events of -log_json.
class JsonLines {
 public:
  explicit JsonLines(RunsSoFar& so_far) : so_far_(so_far) {}
  void read(std::string_view line);

 private:
  void start(const TextTree& event, double clock);
  void train(RunLog& run, const TextTree& event, double at, double seconds);
  void communication(RunLog& run, const TextTree& event, double at, double seconds);
  void scored(RunLog& run, const TextTree& event);
  void note(RunLog& run, const TextTree& event, const std::string& kind, double at, double seconds);

  RunsSoFar& so_far_;
};

/// What people read, with the prefix of glog.
class TextLines {
 public:
  explicit TextLines(RunsSoFar& so_far) : so_far_(so_far) {}
  void read(std::string_view line);

 private:
  void solving(std::string_view text);
  void resuming(std::string_view text);
  void words(RunLog& run, std::string_view text, double seconds);
  void iteration(RunLog& run, std::string_view text, double seconds);
  void speed(RunLog& run, std::string_view text, double seconds);
  void output(RunLog& run, std::string_view text, double seconds);
  void layer(RunLog& run, std::string_view text);
  /// "test", "averaged_test_1": whose values these words tell.
  std::string test_phase(std::string_view text) const;

  RunsSoFar& so_far_;
};

}  // namespace robusta
