/// Trainings as one page of HTML that needs nothing else: no network, no other file (`caffe report`).
///
/// Whatever the logs hold, the page stays below kMostReport bytes: curves keep the least and the greatest value of each
/// stretch of iterations, and what else is too long is cut, and said to be.
#pragma once

#include <string>
#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

inline constexpr size_t kMostReport = 3'000'000;  // bytes

/// The page. Pure.
std::string report_page(const std::vector<RunLog>& runs);

/// `series` with at most `most` points: of each stretch those with the least and the greatest value, in their order;
/// the first and the last point stay. REQUIRES: most >= 4.
RunSeries downsampled(const RunSeries& series, size_t most);

}  // namespace robusta
