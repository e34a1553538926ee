/// How fast training goes: time spent training, without tests and snapshots.
#pragma once

#include <chrono>
#include <cstdint>

namespace robusta {

struct Speed {
  double seconds = 0;  ///< of training
  int64_t iterations = 0, samples = 0;
  double waited = 0;  ///< seconds of it that waited for data

  double per_second(int64_t what) const { return seconds > 0 ? static_cast<double>(what) / seconds : 0; }
  double iterations_per_second() const { return per_second(iterations); }
  double samples_per_second() const { return per_second(samples); }
  double waited_share() const { return seconds > 0 ? waited / seconds : 0; }
};

class SpeedMeter {
 public:
  /// One iteration begins. `waited`: seconds that the sources have waited so far.
  void begin(double waited) {
    start_ = Clock::now();
    waited_at_start_ = waited;
  }
  /// Its gradients are there. Returns the seconds since begin.
  double end(int64_t samples, double waited) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    for (Speed* speed : {&since_take_, &total_}) {
      speed->seconds += seconds;
      speed->iterations += 1;
      speed->samples += samples;
      speed->waited += waited - waited_at_start_;
    }
    return seconds;
  }
  /// Since the last take.
  Speed take() {
    const Speed speed = since_take_;
    since_take_ = {};
    return speed;
  }
  const Speed& so_far() const { return since_take_.iterations > 0 ? since_take_ : total_; }
  const Speed& total() const { return total_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_{};
  double waited_at_start_ = 0;
  Speed since_take_, total_;
};

}  // namespace robusta
