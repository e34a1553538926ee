/// A convolution pass that is one oneDNN primitive, with the reorders of its weights.
#pragma once

#include "layers/backends/onednn/convolution_pass.h"

namespace robusta::onednn {

/// Appends what oneDNN offers for this problem with this algorithm; nothing when it refuses or is slow.
void add_primitive_passes(Direction direction, const ConvolutionProblem& problem, dnnl::algorithm algorithm,
                          ConvolutionPasses& passes);

}  // namespace robusta::onednn
