/// Sums over what a kernel gives, which it makes for the kernel that reads it.
///
/// A kernel that normalises channels by the moments of a batch reads all of its bottom for these before it reads it
/// again. The kernel that writes the bottom has had every number of it at hand, and may add them up. The planner asks
/// both where nothing lies between them, once, before the reader has memory.
///
/// The sums of a channel x are sum(x) and sum(x^2), both f32, all of the first before all of the second: [2, channels].
/// The variance is the mean of the squares less the square of the mean then. With a relative error of d in either sum
/// that is wrong by d * (1 + mean^2 / variance) of itself: with d = 3e-6, as of a million terms in f32, by 0.03 % where
/// the mean is ten deviations, by 3 % where it is a hundred. So sums are for results that are stored in 16 bits alone:
/// rounding to bf16 adds (2^-9)^2 / 3 = 1.3e-6 times the mean square to the variance of what is stored in any case.
#pragma once

namespace robusta {

/// Who writes.
class SumsResults {
 public:
  /// Whether forward will also write the sums of top 0, behind its other tops: they are one top more. If so it has
  /// agreed, and does. May change what it has booked for forward.
  virtual bool sum_results() = 0;

 protected:
  ~SumsResults() = default;
};

/// Who reads.
class TakesResultSums {
 public:
  /// Whether forward wants the sums of bottom 0 and need not read that for them.
  virtual bool wants_result_sums() const = 0;
  /// It will have them: they are one bottom more, behind all others. May change what it has booked for forward.
  virtual void take_result_sums() = 0;

 protected:
  ~TakesResultSums() = default;
};

}  // namespace robusta
