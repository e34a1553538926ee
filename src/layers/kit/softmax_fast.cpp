// Softmax in f32: along the classes where they lie side by side, else across a block of positions at a time.

#include <algorithm>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/kit/softmax.h"
#include "layers/kit/vector_math.h"

namespace robusta {
namespace {

constexpr int64_t kBlock = 256;  // positions

ROBUSTA_SIMD void row_forward(const float* x, float* y, int64_t classes) {
  float largest = x[0];
  for (int64_t c = 1; c < classes; ++c) largest = x[c] > largest ? x[c] : largest;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < classes; ++c) {
    const float e = vec::exp(x[c] - largest);
    y[c] = e;
    sum += e;
  }
  const float factor = 1.0f / sum;
#pragma omp simd
  for (int64_t c = 0; c < classes; ++c) y[c] *= factor;
}

ROBUSTA_SIMD void row_backward(const float* y, const float* dy, float* dx, int64_t classes) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t c = 0; c < classes; ++c) dot += y[c] * dy[c];
#pragma omp simd
  for (int64_t c = 0; c < classes; ++c) dx[c] = y[c] * (dy[c] - dot);
}

ROBUSTA_SIMD void block_forward(const float* x, float* y, int64_t classes, int64_t stride, int64_t width) {
  float largest[kBlock], sum[kBlock];
  for (int64_t i = 0; i < width; ++i) largest[i] = x[i], sum[i] = 0;
  for (int64_t c = 1; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) largest[i] = x[c * stride + i] > largest[i] ? x[c * stride + i] : largest[i];
  }
  for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const float e = vec::exp(x[c * stride + i] - largest[i]);
      y[c * stride + i] = e;
      sum[i] += e;
    }
  }
  for (int64_t i = 0; i < width; ++i) sum[i] = 1.0f / sum[i];
  for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) y[c * stride + i] *= sum[i];
  }
}

ROBUSTA_SIMD void block_backward(const float* y, const float* dy, float* dx, int64_t classes, int64_t stride,
                                 int64_t width) {
  float dot[kBlock];
  for (int64_t i = 0; i < width; ++i) dot[i] = 0;
  for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) dot[i] += y[c * stride + i] * dy[c * stride + i];
  }
  for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) dx[c * stride + i] = y[c * stride + i] * (dy[c * stride + i] - dot[i]);
  }
}

/// body(first element, positions) for blocks of neighbouring positions.
template <typename Body>
void for_blocks(const AxisView& view, const Body& body) {
  const int64_t blocks = (view.inner + kBlock - 1) / kBlock;
  const int64_t work = view.classes * std::min(view.inner, kBlock);
  parallel_for(view.outer * blocks, (1 << 13) / (work + 1) + 1, [&](int64_t task) {
    const int64_t at = task % blocks * kBlock;
    body(task / blocks * view.classes * view.inner + at, std::min(kBlock, view.inner - at));
  });
}

}  // namespace

void softmax_fast(const AxisView& view, const float* x, float* y) {
  for_blocks(view, [&](int64_t at, int64_t width) {
    if (view.inner == 1) {
      row_forward(x + at, y + at, view.classes);
    } else {
      block_forward(x + at, y + at, view.classes, view.inner, width);
    }
  });
}

void softmax_fast_backward(const AxisView& view, const float* y, const float* dy, float* dx) {
  for_blocks(view, [&](int64_t at, int64_t width) {
    if (view.inner == 1) {
      row_backward(y + at, dy + at, dx + at, view.classes);
    } else {
      block_backward(y + at, dy + at, dx + at, view.classes, view.inner, width);
    }
  });
}

}  // namespace robusta
