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
#include "robusta/error.h"

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

/// The files of a folder that may be logs, by name; of a file the file itself.
std::vector<std::string> log_files_of(const std::string& path);

/// A log that tells of no training.
struct NoRuns : Error {
  using Error::Error;
};

/// Reads all of a log: a file, or each file of a folder that is one. Throws NoRuns where none tells of a training, and
/// Error{kUsage} where a file cannot be read.
std::vector<RunLog> read_runs(const std::string& path);

}  // namespace robusta
