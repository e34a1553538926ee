/// What a layer does that normalises the results of a convolution by their moments, where the convolution has not
/// summed them: it reads them all. For timing, where that counts.
#pragma once

#include "layers/backends/onednn/convolution_problem.h"

namespace robusta {

/// The sum over results stored as the problem's dst, and over their squares.
struct ResultsRead {
  double sum = 0, squares = 0;
};
ResultsRead read_results(const onednn::ConvolutionProblem& problem, const void* results);

}  // namespace robusta
