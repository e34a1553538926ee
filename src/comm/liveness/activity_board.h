/// Where a training thread says what it does, and the watch reads it: a sequence lock of atomics, some ten
/// nanoseconds per note, never blocking. One thread writes notes; any thread may touch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "comm/liveness/watch_state.h"

namespace robusta::liveness {

class ActivityBoard {
 public:
  void iteration(int64_t iteration) {
    iteration_.store(iteration, std::memory_order_relaxed);
    touch();
  }

  void note(std::string_view what, Activity activity, double limit) {
    std::array<uint64_t, kWords> words{};
    std::memcpy(words.data(), what.data(), std::min(what.size(), kDoingBytes - 1));
    const uint32_t sequence = sequence_.load(std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_relaxed);
    activity_.store(activity, std::memory_order_release);
    limit_.store(limit, std::memory_order_release);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    sequence_.store(sequence + 2, std::memory_order_release);
    touch();
  }

  /// The text stays. Returns what the activity was.
  Activity switch_to(Activity activity) {
    touch();
    return activity_.exchange(activity, std::memory_order_acq_rel);
  }

  void touch() { moves_.fetch_add(1, std::memory_order_relaxed); }

  /// Refreshes `sample`; a note that is being written at this moment leaves the older one there.
  void read(Sample& sample) const {
    sample.moves = moves_.load(std::memory_order_relaxed);
    sample.iteration = iteration_.load(std::memory_order_relaxed);
    for (int attempt = 0; attempt < 16; ++attempt) {
      const uint32_t before = sequence_.load(std::memory_order_acquire);
      const Activity activity = activity_.load(std::memory_order_acquire);
      const double limit = limit_.load(std::memory_order_acquire);
      std::array<uint64_t, kWords> words;
      for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 != 0 || sequence_.load(std::memory_order_relaxed) != before) continue;
      sample.activity = activity;
      sample.limit = limit;
      std::memcpy(sample.doing, words.data(), kDoingBytes);
      return;
    }
  }

 private:
  static constexpr size_t kWords = kDoingBytes / sizeof(uint64_t);

  std::atomic<uint32_t> sequence_{0};  ///< odd while the words are written (a seqlock)
  std::atomic<uint64_t> moves_{0};
  std::atomic<int64_t> iteration_{-1};
  std::atomic<Activity> activity_{Activity::kPausing};
  std::atomic<double> limit_{std::numeric_limits<double>::infinity()};
  std::array<std::atomic<uint64_t>, kWords> words_{};
};

}  // namespace robusta::liveness
