/// The formats of a convolution's tensors on oneDNN, with a pass for each direction in them.
#pragma once

#include <memory>
#include <optional>

#include "layers/backends/onednn/convolution_problem.h"
#include "layers/kit/kernel.h"

namespace robusta {

struct FormattedConvolution {
  onednn::ConvolutionProblem problem;
  std::unique_ptr<onednn::ConvolutionPass> forward, data, weights;  ///< null: not asked for
};

/// In the best formats that oneDNN has all directions for that the request asks for; f32 and bf16 have formats of their
/// own, so `problem.type` need not be the request's. None when oneDNN has nothing fast. `problem`: without formats.
std::optional<FormattedConvolution> in_best_formats(const KernelRequest& request,
                                                    const onednn::ConvolutionProblem& problem);

}  // namespace robusta
