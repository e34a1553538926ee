/// The gradient of images behind a convolution whose channels fill vectors badly, as LeNet's 20 and 50 do: general
/// kernels work on blocks of 16 channels and multiply the zeros that fill the last one, too. Here vectors run over a
/// row of a window and its channels together (5 * 20 floats), in an image that is unpacked at the end.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::packed_rows {

/// Appends the pass, for this direction alone, where it may pay: two spatial axes, one group, channels last or in
/// blocks, and images and filters that fit into a second-level cache.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::packed_rows
