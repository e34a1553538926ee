/// How fast training goes: time spent training, without tests and snapshots, and where it went.
#pragma once

#include <chrono>
#include <cstdint>

namespace robusta {

struct Speed {
  double seconds = 0;                   ///< of training
  int64_t iterations = 0, samples = 0;  ///< samples of all ranks
  double waited = 0;                    ///< seconds of it that waited for data
  double exposed = 0;                   ///< seconds of it that waited for the gradients of other ranks
  double reducing = 0;                  ///< seconds that reductions took, most of them while backward went on

  double per_second(int64_t what) const { return seconds > 0 ? static_cast<double>(what) / seconds : 0; }
  double iterations_per_second() const { return per_second(iterations); }
  double samples_per_second() const { return per_second(samples); }
  double waited_share() const { return seconds > 0 ? waited / seconds : 0; }
  double exposed_share() const { return seconds > 0 ? exposed / seconds : 0; }
  double computing() const { return seconds - waited - exposed; }

  Speed& operator+=(const Speed& other) {
    seconds += other.seconds;
    iterations += other.iterations;
    samples += other.samples;
    waited += other.waited;
    exposed += other.exposed;
    reducing += other.reducing;
    return *this;
  }
  /// From `before`, an earlier value of the same sum, until now.
  Speed since(const Speed& before) const {
    return {.seconds = seconds - before.seconds,
            .iterations = iterations - before.iterations,
            .samples = samples - before.samples,
            .waited = waited - before.waited,
            .exposed = exposed - before.exposed,
            .reducing = reducing - before.reducing};
  }
};

class SpeedMeter {
 public:
  /// One iteration begins. `waited`: seconds that the sources have waited so far.
  void begin(double waited) {
    start_ = Clock::now();
    waited_at_start_ = waited;
  }
  /// Its gradients are there, after so many seconds of reductions. Returns the seconds since begin.
  double end(int64_t samples, double waited, double exposed = 0, double reducing = 0) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const Speed iteration{.seconds = seconds,
                          .iterations = 1,
                          .samples = samples,
                          .waited = waited - waited_at_start_,
                          .exposed = exposed,
                          .reducing = reducing};
    since_take_ += iteration;
    total_ += iteration;
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
  double waited_at_start_ = 0;  ///< seconds for data, since the program began
  Speed since_take_, total_;
};

}  // namespace robusta
