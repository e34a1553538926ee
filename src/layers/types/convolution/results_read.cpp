// Element by element, whatever the layout: the padding of blocks is zero.

#include "layers/types/convolution/results_read.h"

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

template <typename Stored>
ROBUSTA_SIMD ResultsRead add_range(const Stored* results, int64_t count) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum, squares)
  for (int64_t i = 0; i < count; ++i) {
    const float result = static_cast<float>(results[i]);
    sum += result;
    squares += result * result;
  }
  return {static_cast<double>(sum), static_cast<double>(squares)};
}

}  // namespace

ResultsRead read_results(const onednn::ConvolutionProblem& problem, const void* results) {
  ResultsRead all;
  with_f32_or_bf16(problem.type, [&](auto stored) {
    using Stored = decltype(stored);
    const auto* first = static_cast<const Stored*>(results);
    parallel_ranges(static_cast<int64_t>(problem.dst.get_size() / sizeof(Stored)), kElementwiseGrain,
                    [&](int64_t begin, int64_t end) {
                      const ResultsRead some = add_range(first + begin, end - begin);
#pragma omp critical(robusta_results_read)
                      all = {all.sum + some.sum, all.squares + some.squares};
                    });
  });
  return all;
}

}  // namespace robusta
