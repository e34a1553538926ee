// One axis at a time: which taps a row or a column sees does not depend on the other.

#include "layers/backends/depthwise/axis_runs.h"

#include <algorithm>

namespace robusta::depthwise {

std::vector<SeenTap> seen_by(const WindowAxis& axis, bool backward, int64_t target) {
  std::vector<SeenTap> seen;
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    int64_t source = target * axis.stride - axis.pad + tap * axis.dilation;
    if (backward) {
      const int64_t begin = target + axis.pad - tap * axis.dilation;  // of the window
      if (begin < 0 || begin % axis.stride != 0) continue;
      source = begin / axis.stride;
    }
    if (source >= 0 && source < (backward ? axis.out : axis.in)) seen.push_back({tap, source});
  }
  return seen;
}

std::vector<TargetRun> runs_of(const WindowAxis& axis, bool backward) {
  // Backward, every stride-th pixel sees the same taps.
  const int64_t step = backward ? axis.stride : 1, targets = backward ? axis.in : axis.out;
  const int64_t next_source = backward ? 1 : axis.stride;
  std::vector<TargetRun> runs;
  for (int64_t offset = 0; offset < std::min(step, targets); ++offset) {
    for (int64_t target = offset; target < targets; target += step) {
      std::vector<SeenTap> seen = seen_by(axis, backward, target);
      const auto goes_on = [&](const TargetRun& run) {
        return run.first % step == offset &&
               std::ranges::equal(run.seen, seen, [&](const SeenTap& a, const SeenTap& b) {
                 return a.tap == b.tap && a.source + run.count * next_source == b.source;
               });
      };
      if (!runs.empty() && target > offset && goes_on(runs.back())) {
        ++runs.back().count;
      } else {
        runs.push_back({target, 1, step, std::move(seen), next_source});
      }
    }
  }
  return runs;
}

}  // namespace robusta::depthwise
