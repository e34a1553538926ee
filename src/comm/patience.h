/// Waiting for another rank without taking the core from those who compute: first a short spin, for a peer that is
/// about to answer; then the core is offered to others; then naps. Once another thread has taken the offer, only naps:
/// who wakes up runs at once, and who yields or spins on a busy core uses up its share and runs last.
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
      if (offer_core()) looks_ = spins_ + yields_;
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

  /// Whether somebody else ran meanwhile.
  static bool offer_core() {
    const auto before = std::chrono::steady_clock::now();
    sched_yield();
    return std::chrono::steady_clock::now() - before > kTaken;
  }

  static constexpr std::chrono::microseconds kTaken{100};    // a call takes one when nobody wants the core
  static constexpr int kYields = 1000;                       // about a millisecond when nobody wants the core
  static constexpr std::chrono::microseconds kLongest{400};  // a link of 10 Gbit/s moves 500 KB meanwhile

  int spins_, yields_;  ///< looks before the core is offered, and before the first nap
  int looks_ = 0;
  std::chrono::microseconds nap_;
};

}  // namespace robusta
