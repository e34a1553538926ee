/// A curve of a log as characters: dots of Braille, two by four in each (Unicode 15, block U+2800).
#pragma once

#include <string>
#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

struct PlotSize {
  int columns = 80, rows = 10;  ///< with the axis and the title
};

/// Lines of at most size.columns characters, size.rows of them: the title with the last value, the curve beside the
/// numbers of its axis, and the iterations below. Values that are not finite are left out. A pure function. REQUIRES:
/// rows >= 4, columns >= 24. Characters of the title that a terminal could obey are taken away.
std::vector<std::string> dot_plot(const std::string& title, const RunSeries& series, PlotSize size);

/// A whole screen of a run: as many of its curves as fit below each other, what matters most first.
std::vector<std::string> run_screen(const RunLog& run, PlotSize screen);

/// "0.000123", "1.23e-07", "812": four digits.
std::string short_number(double value);

/// What came since `seen`, a line for each iteration with its values; `seen` moves on. More may follow of the latest
/// iteration: it is left for the next call unless the run has ended, or `all` is wanted. For what is no terminal.
std::vector<std::string> new_lines(const RunLog& run, bool all, double& seen);

}  // namespace robusta
