/// What one log has told up to a line: its trainings, and what later lines of it go by.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

/// A log to which a second training was appended holds two.
struct RunsSoFar {
  std::string name;  ///< of the log
  std::vector<RunLog> runs;
  bool resuming = false;                  ///< a text log said that it resumes, and has not yet told the iteration
  std::string resumed_from;               ///< the words with which it said so
  std::vector<RunEvent> early;            ///< of the training that is about to begin, in a text log
  int test_net = 0;                       ///< whose outputs follow, in a text log
  std::map<std::string, int> first_line;  ///< of an output of several values: the number of its first line

  explicit RunsSoFar(std::string of) : name(std::move(of)) {}
  /// The run that goes on.
  RunLog& now();
  /// A new one; a training that came to no result is no other one, and makes room for it.
  RunLog& begin();
  /// Of the run that goes on.
  double since_start(double clock);
};

}  // namespace robusta
