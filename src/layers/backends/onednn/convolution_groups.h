/// A grouped convolution as one ordinary convolution per group, for algorithms that know no groups (Winograd).
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::onednn {

/// Appends the Winograd passes of one group, run group by group; nothing when there are none.
void add_group_passes(Direction direction, const ConvolutionProblem& problem, ConvolutionPasses& passes);

}  // namespace robusta::onednn
