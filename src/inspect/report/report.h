/// Trainings as one page of HTML that needs nothing else: no network, no other file (`caffe report`).
///
/// Whatever the logs hold, the page has at most kMostReport bytes: curves keep the least and the greatest value of each
/// stretch of iterations, and where they are smoothed its mean; what else is too long is cut, and said to be.
#pragma once

#include <string>
#include <vector>

#include "inspect/runs/run_log.h"

namespace robusta {

inline constexpr size_t kMostReport = 3'000'000;  // bytes

/// The page. Pure.
std::string report_page(const std::vector<RunLog>& runs);

}  // namespace robusta
