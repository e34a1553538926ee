/// Small things that the converters share.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// The whole content of a file. Throws Error{kData} naming the path and the system's reason.
std::string read_whole_file(const std::string& path);

/// A number with leading zeros: padded(7, 5) is "00007". More digits are kept.
std::string padded(int64_t number, int digits);

/// Caffe's line, every 1000 records.
void report_progress(int64_t done);

}  // namespace robusta
