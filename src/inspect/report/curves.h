/// Curves with few points for ones with many: what a page draws. Pure functions.
#pragma once

#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

/// `series` with at most `most` points: of each stretch those with the least and the greatest value, in their order;
/// the first and the last point stay. REQUIRES: most >= 4.
RunSeries downsampled(const RunSeries& series, size_t most);

/// `series` with at most `most` points: the mean of the finite values of each stretch, where the stretch ends. A
/// stretch without such a value has the mean NaN. REQUIRES: most >= 1.
RunSeries means_of(const RunSeries& series, size_t most);

/// What the milliseconds of an iteration went to.
struct RunSplit {
  std::vector<double> iter, seconds;
  std::vector<double> computing, data, communication;
};

/// Of each display that tells its speed, then of at most `most` stretches of displays, as the time of their iterations
/// together by their number. REQUIRES: most >= 1.
RunSplit split_of(const RunLog& run, size_t most);

}  // namespace robusta
