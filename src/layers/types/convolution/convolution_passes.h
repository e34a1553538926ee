/// The algorithms that compute one direction of a convolution on the CPU: oneDNN's and our own.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta {

/// All algorithms that are worth trying, the one to take untried first. Empty when there is nothing fast.
onednn::ConvolutionPasses convolution_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem);

/// True where the algorithm to take untried wants channels in blocks of 16 even if they fill them badly, and for
/// images, which the layers after the first then want so.
bool prefers_blocks(const ConvolutionGeometry& geometry);

}  // namespace robusta
