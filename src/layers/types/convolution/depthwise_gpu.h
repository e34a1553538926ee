/// Depthwise convolutions of 3 x 3 (Howard et al. 2017, "MobileNets") by kernels of our own, channels last, in packs of
/// channels: what a library is asked for (library_problem.h), with bias, sum and ReLU in the same launch.
///
/// Each result takes nine products, so that memory is all that counts: a thread computes some neighbouring results of a
/// pack of channels and loads each pixel of the rows below them once; its filters stay in registers.
#pragma once

#include "layers/types/convolution/library_problem.h"

namespace robusta {
inline namespace ROBUSTA_GPU_TARGET {

/// Whether there are kernels for it: a filter for each channel, 3 x 3 next to one another, of stride 1 or 2, and whole
/// packs of channels that 32 bits can count.
bool takes_depthwise(const dnn::Problem& problem);

/// Bytes of workspace.
size_t depthwise_workspace(dnn::Direction direction, const dnn::Problem& problem);

/// As a library does it. REQUIRES: takes_depthwise(problem), and arrays on packs.
void run_depthwise(dnn::Direction direction, Stream* stream, const dnn::Problem& problem,
                   const ConvolutionArrays& arrays);

}  // namespace ROBUSTA_GPU_TARGET
}  // namespace robusta
