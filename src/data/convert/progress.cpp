// The time that is left is that of the items so far, stretched.

#include "data/convert/progress.h"

#include <cstdio>

#include "base/clock_text.h"
#include "base/log.h"

namespace robusta {

void ConversionProgress::show(int64_t done, int64_t written) {
  constexpr int64_t kEvery = 1000;
  if (written != reported_ && written % kEvery == 0) LOG_INFO << "Processed " << written << " files.";
  reported_ = written;
  if (line_.active() && (Clock::now() >= next_draw_ || done == total_)) draw(done);
}

void ConversionProgress::draw(int64_t done) {
  constexpr auto kBetween = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  next_draw_ = now + kBetween;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  char text[160];
  std::snprintf(text, sizeof text, "%lld/%lld (%.1f %%), %.*f img/s, ETA %s", static_cast<long long>(done),
                static_cast<long long>(total_), 100 * share, rate < 100 ? 1 : 0, rate,
                clock_text(seconds / share - seconds).c_str());
  line_.show(text);
}

}  // namespace robusta
