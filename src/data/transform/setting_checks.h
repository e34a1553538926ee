/// What the settings of transformations are refused for.
#pragma once

#include <cmath>
#include <string>

#include "base/str.h"
#include "data/image.h"
#include "robusta/error.h"

namespace robusta {

/// Throws Error{kConfig} in this field.
[[noreturn]] inline void refuse_setting(const std::string& field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field);
}

inline void require_probability(float value, const std::string& field) {
  if (!(value >= 0 && value <= 1)) refuse_setting(field, str("a probability of ", value), "give 0 to 1");
}

/// least <= low <= high <= a million: what is larger says nothing that this does not, and overflows sooner or later.
inline void require_range(float low, float high, float least, const std::string& low_field,
                          const std::string& high_field) {
  constexpr float kMost = 1e6f;
  if (!(low >= least && low <= kMost))
    refuse_setting(low_field, str("it is ", low), str("give ", least, " to ", kMost));
  if (!(high >= low))
    refuse_setting(high_field, str("it is ", high, ", less than the lower end ", low), "give the lower end or more");
  if (!(high <= kMost)) refuse_setting(high_field, str("it is ", high), str("give at most ", kMost));
}

/// Sides of images that are made; 0 is refused, too.
inline void require_size(int64_t height, int64_t width, const std::string& field) {
  if (height > 0 && width > 0 && height <= kMostPixels / width) return;
  refuse_setting(field, str("images of ", height, " x ", width, " pixels; at least 1, at most ", kMostPixels),
                 "make them smaller");
}

}  // namespace robusta
