// caffe report: logs of trainings as one page of HTML.

#include <filesystem>
#include <iostream>
#include <optional>

#include "app/commands/file_action.h"
#include "base/atomic_file.h"
#include "inspect/report/report.h"
#include "inspect/runs/run_log_reader.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct ReportFlags : FileFlags {
  Flag<std::string> o{this, "o", "report.html", "file to write"};
};

/// A slip in the words must not cost the log of a training.
void refuse_to_replace(const std::string& log, const std::string& output) {
  std::error_code absent;
  if (!std::filesystem::equivalent(log, output, absent)) return;
  throw Error(ErrorKind::kUsage, "-o " + output + " is one of the logs that are read", "name another file");
}

/// Of all logs that hold some; only where none does, that is an error.
std::vector<RunLog> runs_of(const std::vector<std::string>& paths, const std::string& output) {
  std::vector<RunLog> runs;
  std::optional<Error> none;
  for (const std::string& path : paths) {
    for (const std::string& file : log_files_of(path)) refuse_to_replace(file, output);
    try {
      std::vector<RunLog> found = read_runs(path);
      std::move(found.begin(), found.end(), std::back_inserter(runs));
    } catch (const NoRuns& error) {
      none = error;
      if (paths.size() > 1) std::cerr << error.what() << std::endl;
    }
  }
  if (runs.empty() && none) throw *none;
  return runs;
}

int report_command(const FileCommand& command) {
  ReportFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1000);
  if (read.done) return read.exit_code;
  const std::vector<RunLog> runs = runs_of(read.words, flags.o());
  const std::string page = report_page(runs);
  write_file_atomically(flags.o(), [&](int fd) { write_all(fd, page.data(), page.size()); });
  std::cout << flags.o() << ": " << runs.size() << (runs.size() == 1 ? " run, " : " runs, ") << page.size() << " bytes"
            << std::endl;
  return 0;
}

[[maybe_unused]] const bool registered_report = register_file_action(
    {"report", "RUN...", "one page of HTML with curves, times and settings of trainings, from their logs",
     report_command});

}  // namespace
}  // namespace robusta
