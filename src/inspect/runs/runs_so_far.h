/// What one log has told up to a line: its trainings, and what later lines of it go by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

/// A log to which a second training was appended holds two.
struct RunsSoFar {
  std::string name;  ///< of the log
  std::vector<RunLog> runs;
  std::optional<double> start;            ///< seconds of the clock at which the last run began
  int test_net = 0;                       ///< whose outputs follow, in a text log
  std::map<std::string, int> first_line;  ///< of an output of several values: the number of its first line

  explicit RunsSoFar(std::string of) : name(std::move(of)) {}
  /// The run that goes on.
  RunLog& now();
  /// A new one.
  RunLog& begin();
  double since_start(double seconds);
};

}  // namespace robusta
