// Element by element, whatever the layout: the padding of blocks stays zero.

#include "layers/types/convolution/masked_gradient.h"

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/elementwise.h"

namespace robusta {
namespace {

template <typename Stored>
ROBUSTA_SIMD void mask_values(const Stored* y, const Stored* dy, float slope, Stored* masked, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = static_cast<float>(dy[i]);
    assign(static_cast<float>(y[i]) > 0 ? gradient : slope * gradient, masked[i]);
  }
}

}  // namespace

void mask_gradient(const onednn::ConvolutionProblem& problem, const void* y, const void* dy, void* masked) {
  with_f32_or_bf16(problem.type, [&](auto stored) {
    using Stored = decltype(stored);
    const Stored *results = static_cast<const Stored*>(y), *gradients = static_cast<const Stored*>(dy);
    Stored* to = static_cast<Stored*>(masked);
    const float slope = problem.slope;
    parallel_ranges(static_cast<int64_t>(problem.dst.get_size() / sizeof(Stored)), kElementwiseGrain,
                    [=](int64_t begin, int64_t end) {
                      mask_values(results + begin, gradients + begin, slope, to + begin, end - begin);
                    });
  });
}

}  // namespace robusta
