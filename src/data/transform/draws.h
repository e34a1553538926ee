/// What transformations draw from: for each sample and each purpose a stream of its own, so that one transformation
/// more or less changes nothing of what the others draw.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace robusta {

/// Whose stream it is. What mirrors and crops draw is older and has the key itself.
enum class DrawnFor : uint64_t {
  kDistortion = 1,
  kExpansion,
  kPatch,
  kSize,
  kResize,
  kNoise,
  kRegion,
  kScaledCrop,
  kFrames
};

/// `key` is the layer's for this run, `position` the sample's.
inline PhiloxStream draws_of(uint64_t key, uint64_t position, DrawnFor purpose) {
  return PhiloxStream(key + static_cast<uint64_t>(purpose), position);
}

/// True with this probability: always with 1, never with 0.
inline bool happens(PhiloxStream& draws, float probability) {
  return draws.uniform() < static_cast<double>(probability);
}

/// Uniform between both.
inline float between(PhiloxStream& draws, float low, float high) {
  return low + (high - low) * static_cast<float>(draws.uniform());
}

}  // namespace robusta
