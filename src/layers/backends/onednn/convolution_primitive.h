/// A convolution pass that is one oneDNN primitive, with the reorders of its weights.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::onednn {

/// Appends what oneDNN offers for this problem with this algorithm; nothing when it refuses or is slow.
void add_primitive_passes(Direction direction, const ConvolutionProblem& problem, dnnl::algorithm algorithm,
                          ConvolutionPasses& passes);

/// The formats in which oneDNN would like to have input and output, for a problem without formats. False if it has
/// nothing fast.
bool choose_formats(ConvolutionProblem& problem);

}  // namespace robusta::onednn
