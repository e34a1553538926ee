/// Reads logs of trainings.
///
/// One reader for both kinds of log - the events of -log_json, and the lines that Caffe and its forks log - and for all
/// who show them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inspect/runs/run_log.h"
#include "inspect/runs/runs_so_far.h"

namespace robusta {

/// Takes the lines of one log, one by one, as they come. Lines of another form are passed over.
class RunLogReader {
 public:
  /// `name`: of the log.
  explicit RunLogReader(std::string name) : so_far_(std::move(name)) {}

  void read(std::string_view line);
  const std::vector<RunLog>& runs() const { return so_far_.runs; }
  std::vector<RunLog>& runs() { return so_far_.runs; }

 private:
  RunsSoFar so_far_;
};

/// Reads all of a log: a file, or each file of a folder that is one. Throws Error{kUsage} where there is none.
std::vector<RunLog> read_runs(const std::string& path);

}  // namespace robusta
