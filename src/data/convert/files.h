/// Small things that the converters share.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// A number with leading zeros: padded(7, 5) is "00007". More digits are kept.
std::string padded(int64_t number, int digits);

/// Caffe's line, every 1000 records.
void report_progress(int64_t done);

}  // namespace robusta
