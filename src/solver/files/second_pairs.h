/// Weights of nets in which Intel's Caffe has merged a BatchNorm layer and the Scale layer behind it.
#pragma once

#include <optional>

#include "net/net.h"
#include "schema/weights_file.h"

namespace robusta {

/// Where `file` has a scale and a shift with a BatchNorm layer's statistics (five arrays) and `net` has them in the
/// Scale layer that follows: a copy in which that layer has them. Where the file has arrays for both,
/// y = s2 (s1 x + b1) + b2 is one pair: s = s1 s2 and b = s2 b1 + b2. None where there is nothing to move.
std::optional<WeightsFile> with_moved_pairs(const WeightsFile& file, const Net& net);

}  // namespace robusta
