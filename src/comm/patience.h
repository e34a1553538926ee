/// Waiting for another rank without taking the core from those who compute: first a short spin, for a peer that is
/// about to answer; then the core is offered to others; then naps.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace robusta {

class Patience {
 public:
  /// `spins`: looks before the core is offered; `yields`: offers before the first nap.
  /// `nap`: the first one; the others are longer.
  explicit Patience(int spins, int yields = kYields, std::chrono::microseconds nap = std::chrono::microseconds(50))
      : spins_(spins), yields_(yields), nap_(nap) {}

  void pause() {
    if (looks_ < spins_) {
      relax();
    } else if (looks_ < spins_ + yields_) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(nap_);
      // Waking up costs a tenth of the first nap, which a thread that computes pays.
      nap_ = std::min(2 * nap_, kLongest);
      return;
    }
    ++looks_;
  }

 private:
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  static constexpr int kYields = 1000;                       // about a millisecond when nobody wants the core
  static constexpr std::chrono::microseconds kLongest{400};  // a link of 10 Gbit/s moves 500 KB meanwhile

  int spins_, yields_;
  int looks_ = 0;
  std::chrono::microseconds nap_;
};

}  // namespace robusta
