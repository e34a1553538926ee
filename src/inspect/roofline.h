/// The roofline model (Williams, Waterman and Patterson 2009): how near each layer of a net comes to what the machine's
/// cores and memory allow.
///
/// A bound is the longer of two times: that of the layer's arithmetic at the peak of the cores, and that of reading and
/// writing each value once at the rate of the memory. A share above 1 is no mistake: arithmetic is counted as for the
/// direct method, which Winograd's does with less, and values may stay in the caches.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "device/cpu/peaks.h"
#include "net/diagnostics.h"

namespace robusta {

/// One layer's forward or backward pass; of a fused chain, all its layers.
struct RooflineRow {
  std::string layer;
  bool backward = false;
  double seconds = 0;          ///< as measured, of one pass
  StepWork work;               ///< of the same
  double bound = 0;            ///< seconds at least
  bool by_arithmetic = false;  ///< that is the longer one of the two

  /// Of what is possible.
  double share() const { return seconds > 0 ? bound / seconds : 0; }
};

/// Of all layers that take time, in the net's order. `times`: sums over `passes`; `work`: of the same layers.
std::vector<RooflineRow> roofline(const std::vector<LayerTime>& times, const std::vector<LayerWork>& work, int passes,
                                  const ProcessorPeaks& peaks);

/// A table for people, the machine's peaks above it and what all rows take together below.
void print_roofline(std::ostream& out, const std::vector<RooflineRow>& rows, const ProcessorPeaks& peaks);

/// "f32 203.1 GFLOP/s, memory 24.3 GB/s"
std::string describe(const ProcessorPeaks& peaks);

}  // namespace robusta
