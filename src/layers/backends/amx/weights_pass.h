/// The gradient of a convolution's filters by matrix units, from bf16 with channels last.
///
/// Of each tap it is a matrix product, dW = dY^T X, whose terms are the pixels of all results. Both factors have to be
/// packed on the way, gradients transposed; libraries spend more time on that than on the products.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::amx {

/// Appends the pass, for this direction alone, and where the problem fits: bf16, channels last, two spatial axes, one
/// group, and a processor with AMX.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::amx
