/// The gradient of a convolution's filters by matrix units, from bf16 with channels last.
///
/// Of each tap it is a matrix product, dW = dY^T X, whose terms are the pixels of all results. Both factors have to be
/// packed on the way, gradients transposed; libraries spend more time on that than on the products.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::amx {

/// Whether passes of amx/ can take a problem: bf16, channels last, two spatial axes, and a processor with AMX.
bool fits(const onednn::ConvolutionProblem& problem);

/// Appends the pass, for this direction alone, where the problem fits and has one group.
void add_weights_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                        onednn::ConvolutionPasses& passes);

}  // namespace robusta::amx
