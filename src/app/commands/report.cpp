// caffe report: logs of trainings as one page of HTML.

#include <iostream>

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

int report_command(const FileCommand& command) {
  ReportFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1000);
  if (read.done) return read.exit_code;
  std::vector<RunLog> runs;
  for (const std::string& path : read.words) {
    std::vector<RunLog> found = read_runs(path);
    std::move(found.begin(), found.end(), std::back_inserter(runs));
  }
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
