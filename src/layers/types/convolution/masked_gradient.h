/// The gradient before the ReLU that follows a convolution, for passes that do not apply its mask themselves.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta {

/// masked = dy where y is positive, else the slope of the problem's ReLU times dy. All are stored as the problem's dst.
void mask_gradient(const onednn::ConvolutionProblem& problem, const void* y, const void* dy, void* masked);

}  // namespace robusta
