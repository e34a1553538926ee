/// The factor by which gradients are made larger while they are stored as f16, whose smallest numbers are 2^-24.
///
/// Micikevicius et al. 2018, "Mixed Precision Training", section 3.2: the gradient of the loss is multiplied by it, the
/// update divides by it. It is found as training goes on: an iteration whose gradients are not all finite changes no
/// parameter and halves it, kPatience good ones in a row double it. All ranks see the same sums of gradients, hence
/// agree without a word.
#pragma once

#include <algorithm>
#include <cstdint>

namespace robusta {

struct LossScale {
  static constexpr double kStart = 65536, kMost = 1 << 24, kLeast = 1.0 / (1 << 14);
  static constexpr int kPatience = 2000;

  double value = 0;     ///< a power of two, unless it began otherwise; 0: gradients are not scaled
  int good_steps = 0;   ///< since it changed
  int64_t skipped = 0;  ///< iterations without an update, since training began

  bool active() const { return value > 0; }
  /// After an iteration.
  void note(bool finite) {
    if (!finite) {
      ++skipped;
      good_steps = 0;
      value /= 2;
    } else if (++good_steps == kPatience) {
      good_steps = 0;
      value = std::max(value, std::min(2 * value, kMost));
    }
  }
  /// No scale helps: something else is wrong.
  bool exhausted() const { return active() && value < kLeast; }
};

}  // namespace robusta
