/// The gradient of the filters of a net's first convolution, which sees an image of few channels.
///
/// General kernels fill a vector with channels of the input, of which there are three here, or read each gradient once
/// for each tap. Here vectors hold outputs, and a row of gradients is read once: the ReLU's mask is applied on that
/// way, and the bias summed.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::few_channels {

/// Appends the pass, for this direction alone, and where the problem fits: two spatial axes, one group, at most four
/// channels, and a processor with vectors.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::few_channels
