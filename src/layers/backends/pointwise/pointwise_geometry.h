/// Which convolutions the passes of this folder take.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::pointwise {

/// One group of f32, windows of a single tap without padding, and channels in blocks of `lanes`. None for 0 lanes.
bool is_pointwise_in_blocks(const onednn::ConvolutionProblem& problem, int lanes);

}  // namespace robusta::pointwise
