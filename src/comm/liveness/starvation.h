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
  /// `tasks`: a folder for each thread, each with the files stat (proc(5)) and schedstat (Linux:
  /// Documentation/scheduler/sched-stats.rst).
  explicit Starvation(std::string tasks = "/proc/self/task") : tasks_(std::move(tasks)) {}

  /// Seconds since the first call: of each stretch between two calls, those of the thread that waited longest. 0 where
  /// the system keeps no such statistics. `now`: seconds since any moment.
  double seconds(double now);

 private:
  struct Thread {
    uint64_t running = 0, waiting = 0;  ///< nanoseconds with a processor, and in the queue of one
    bool ready = false;                 ///< to run, or running
    double ahead = 0;                   ///< seconds of a wait that lasts, counted before the kernel has
  };
  /// False when the thread has ended, or the system does not say.
  bool read(const std::string& thread, Thread& now) const;
  /// Seconds that a thread waited in a stretch of this length.
  static double waited(const Thread& before, double stretch, Thread& now);

  std::string tasks_;
  std::map<std::string, Thread> threads_;
  double looked_at_ = 0, total_ = 0;  ///< seconds: when, and how much of waiting
};

}  // namespace robusta::liveness
