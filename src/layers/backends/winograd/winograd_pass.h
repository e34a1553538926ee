/// Convolutions of 3x3 and 5x5 with stride 1 by Winograd's minimal filtering, F(4x4, 3x3) and F(2x2, 5x5), on channels
/// in blocks of a vector (tile_math.h names the papers).
///
/// Tiles are transformed, multiplied and transformed back some at a time, so that what lies between stays in the
/// caches: that beats methods that transform a whole batch at once where channels are few and images large. Rounding
/// is about 1e-5 of the largest result.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta::winograd {

/// True for the shapes that are known here, on processors with vectors (vector_lanes()).
bool can_run(const ConvolutionGeometry& geometry);

/// Appends the pass for this direction of the problem; nothing where it does not fit.
void add_passes(onednn::Direction direction, const onednn::ConvolutionProblem& problem,
                onednn::ConvolutionPasses& passes);

}  // namespace robusta::winograd
