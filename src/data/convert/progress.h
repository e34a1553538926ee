/// How a conversion goes: Caffe's line in the log every 1000 records, and on a terminal a line with the time that is
/// left.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/progress_line.h"

namespace robusta {

class ConversionProgress {
 public:
  /// Of so many items in all.
  explicit ConversionProgress(int64_t total) : total_(total) {}

  /// So many items are done, and so many records of them written.
  void show(int64_t done, int64_t written);
  /// Where each item is a record.
  void show(int64_t done) { show(done, done); }

 private:
  using Clock = std::chrono::steady_clock;

  void draw(int64_t done);

  int64_t total_, reported_ = 0;
  Clock::time_point start_ = Clock::now(), next_draw_ = start_;
  ProgressLine line_;
};

}  // namespace robusta
