/// The algorithms that compute one direction of a convolution on the CPU: oneDNN's and our own, and the choice between
/// them.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"
#include "layers/kit/kernel.h"

namespace robusta {

/// All algorithms that are worth trying, the one to take untried first. Empty when there is nothing fast.
onednn::ConvolutionPasses convolution_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem);

/// The pass to use: the fastest of these, or the first where there is no tuner, or no memory to time them in. Null when
/// there is none. Backward with `problem.relu`: what the ReLU's mask costs counts, unless the pass applies it.
std::unique_ptr<onednn::ConvolutionPass> choose_pass(onednn::Direction direction,
                                                     const onednn::ConvolutionProblem& problem, Tuner* tuner);

/// True where the algorithm to take untried wants channels in blocks of 16 even if they fill them badly, and for
/// images, which the layers after the first then want so.
bool prefers_blocks(const ConvolutionGeometry& geometry);

}  // namespace robusta
