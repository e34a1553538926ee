/// Which taps lie over which pixels along an axis, for results and for the gradient of images: what is computed are
/// targets, what their taps see are sources.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/window.h"

namespace robusta::depthwise {

struct SeenTap {
  int64_t tap, source;
};

/// Targets first, first + step, ... that see sources by the same taps; those of the next are `next_source` further.
struct TargetRun {
  int64_t first, count, step;
  std::vector<SeenTap> seen;  ///< by the first target
  int64_t next_source;
};

/// What target `target` sees: a result sees pixels; a pixel, backward, the results whose windows it lies in.
std::vector<SeenTap> seen_by(const WindowAxis& axis, bool backward, int64_t target);

std::vector<TargetRun> runs_of(const WindowAxis& axis, bool backward);

}  // namespace robusta::depthwise
