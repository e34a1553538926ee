/// For how long threads of this process were ready to run and had no processor: others had it. A thread that stands
/// still for want of a processor is no fault of its own, and the answer to it is another one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace robusta::liveness {

class Starvation {
 public:
  /// `tasks`: a folder for each thread, each with a file schedstat (Linux: Documentation/scheduler/sched-stats.rst).
  explicit Starvation(std::string tasks = "/proc/self/task") : tasks_(std::move(tasks)) {}

  /// Seconds since the first call: of each stretch between two calls, those of the thread that waited longest. 0 where
  /// the system keeps no such statistics.
  double seconds();

 private:
  std::string tasks_;
  std::map<std::string, uint64_t> waited_;  ///< by thread: nanoseconds in the queue of a processor
  double total_ = 0;
};

}  // namespace robusta::liveness
