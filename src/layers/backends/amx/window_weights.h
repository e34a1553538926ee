/// The gradient of the filters of windows with stride 1, by matrix units, from bf16 with channels last.
///
/// Its terms are the places of frames (frames.h), in which each tap sees the same pixels, some places later. So inputs
/// are packed twice for all taps, in pairs that begin at even places and in pairs that begin at odd ones, where
/// weights_pass.h packs them for each tap. How sums are shared out, and so their rounding, depends on how many threads
/// there are.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::amx {

/// Appends the pass, for this direction alone, where the problem is one of these, of one group or of several whose
/// channels fill tiles, and fits (weights_pass.h).
void add_window_weights_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                               onednn::ConvolutionPasses& passes);

}  // namespace robusta::amx
