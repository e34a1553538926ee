/// Depthwise convolutions of bf16 with channels last, in all three directions: memory is read in the order in which it
/// lies, as fast as it comes.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::depthwise {

/// Appends the pass of this direction where each channel is a group of its own, with one output, and channels are a
/// multiple of 32.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::depthwise
