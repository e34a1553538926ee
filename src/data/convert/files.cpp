// Names of records and counters that all converters share.

#include "data/convert/files.h"

#include "base/log.h"

namespace robusta {

std::string padded(int64_t number, int digits) {
  std::string text = std::to_string(number);
  const auto width = static_cast<size_t>(digits);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

void report_progress(int64_t done) {
  constexpr int64_t kEvery = 1000;
  if (done % kEvery == 0) LOG_INFO << "Processed " << done << " files.";
}

}  // namespace robusta
