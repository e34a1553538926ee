// Of eight inputs and three vectors of outputs (four and three with AVX2) there are 24 (12) sums: for each pixel three
// loads of gradients and eight of inputs serve 24 multiply-adds, so that units for multiplication are the ones that are
// busy. The next block of inputs is fetched meanwhile, which made it a tenth faster; the next panel's gradients,
// fetched likewise, gained nothing.

#include "layers/backends/pointwise/pixel_products.h"

#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta::pointwise {
namespace {

/// R inputs from `input` on.
template <int L, int V, int R>
inline __attribute__((always_inline)) void add_inputs(std::span<const PixelRun> runs, int64_t input, int64_t next_block,
                                                      float* sums) {
  Floats<L> sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sum[r][v] = floats_at<L>(sums + (r * V + v) * L);
  }
  for (const PixelRun& run : runs) {
    const float *inputs = run.inputs + input, *gradients = run.gradients;
#pragma GCC unroll 2
    for (int64_t p = 0; p < run.pixels; ++p, inputs += L, gradients += L) {
      Floats<L> gradient[V];
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) gradient[v] = floats_at<L>(gradients + v * next_block);
      __builtin_prefetch(inputs + next_block);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const float factor = inputs[r];
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sum[r][v] += factor * gradient[v];
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) floats_at<L>(sums + (r * V + v) * L) = sum[r][v];
  }
}

template <int L, int V, int R>
inline __attribute__((always_inline)) void add_block(std::span<const PixelRun> runs, int64_t block, int64_t next_block,
                                                     float* sums) {
  for (int64_t input = 0; input < L; input += R) {
    add_inputs<L, V, R>(runs, block + input, next_block, sums + input * V * L);
  }
}

template <int L>
ROBUSTA_SIMD void add_run(const float* gradients, int64_t pixels, double* sums) {
  Floats<L> sum = {};
  for (int64_t p = 0; p < pixels; ++p) sum += floats_at<L>(gradients + p * L);
  for (int lane = 0; lane < L; ++lane) sums[lane] += static_cast<double>(sum[lane]);
}

template <int V>
ROBUSTA_LANES_16 void add_16(std::span<const PixelRun> runs, int64_t block, int64_t next_block, float* sums) {
  add_block<16, V, V == 1 ? 16 : 8>(runs, block, next_block, sums);
}

template <int V>
ROBUSTA_LANES_8 void add_8(std::span<const PixelRun> runs, int64_t block, int64_t next_block, float* sums) {
  add_block<8, V, V == 1 ? 8 : 4>(runs, block, next_block, sums);
}

using Add = void (*)(std::span<const PixelRun>, int64_t, int64_t, float*);
constexpr Add kAdd16[kMostVectors] = {add_16<1>, add_16<2>, add_16<3>};
constexpr Add kAdd8[kMostVectors] = {add_8<1>, add_8<2>, add_8<3>};

}  // namespace

void add_pixel_products(std::span<const PixelRun> runs, int64_t block, int64_t next_block, int lanes, int vectors,
                        float* sums) {
  (lanes == 16 ? kAdd16 : kAdd8)[vectors - 1](runs, block, next_block, sums);
}

void add_gradients(const float* gradients, int64_t pixels, int lanes, int vectors, double* sums) {
  for (int64_t v = 0; v < vectors; ++v) {
    (lanes == 16 ? add_run<16> : add_run<8>)(gradients + v * pixels * lanes, pixels, sums + v * lanes);
  }
}

}  // namespace robusta::pointwise
