/// Convolutions by matrix units, forward and the gradient of their images, from bf16 with channels last: one matrix
/// product, whose terms are the channels of all taps (frames.h).
///
/// Along each axis of a window of any size with stride 1, whose padding no result sees alone, or of one tap with any
/// stride; of one group, or of several that fill tiles.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::amx {

/// Appends the pass, for these two directions, where the problem is one of these and fits (weights_pass.h).
void add_products_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                         onednn::ConvolutionPasses& passes);

}  // namespace robusta::amx
