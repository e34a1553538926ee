/// The gradient of the filters of 1x1 convolutions of any stride, on channels in blocks of a vector, where filters are
/// many and pixels few: at the end of a net.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::pointwise {

/// Appends the pass, for this direction alone, where the problem is one of these, the batch has at most 4096 results of
/// an output, and the processor has vectors.
void add_weights_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                        onednn::ConvolutionPasses& passes);

}  // namespace robusta::pointwise
