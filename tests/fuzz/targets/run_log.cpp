// Logs of trainings: read line by line, made into a report and drawn.

#include <sstream>

#include "fuzz.h"
#include "inspect/report/report.h"
#include "inspect/runs/run_log_reader.h"
#include "inspect/watch/dot_plot.h"

namespace robusta::fuzz {
namespace {

void read_run_log(std::string_view input) {
  RunLogReader reader("log");
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) reader.read(line);
  if (report_page(reader.runs()).size() > kMostReport) std::abort();
  for (const RunLog& run : reader.runs()) {
    double seen = -1;
    new_lines(run, true, seen);
    for (const PlotSize size : {PlotSize{80, 24}, PlotSize{24, 6}, PlotSize{1, 1}}) {
      if (std::ssize(run_screen(run, size)) > size.rows) std::abort();
    }
  }
}

[[maybe_unused]] const bool registered_run_log = register_target("run_log", read_run_log);

}  // namespace
}  // namespace robusta::fuzz
