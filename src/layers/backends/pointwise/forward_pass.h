/// 1x1 convolutions of any stride as matrix products, on channels in blocks of a vector.
///
/// Some pixels at a time are gathered, as many as stay in the second-level cache, and multiplied with all weights,
/// which lie in panels as wide as two registers.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::pointwise {

/// Appends the pass, for this direction alone, where the problem is one of these and the processor has vectors.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::pointwise
