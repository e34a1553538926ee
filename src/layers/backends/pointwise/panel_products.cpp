// The register tile of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication", section 6. What
// is read once is fetched ahead: a panel of weights comes from far away when its first pixels want it, and the
// processor by itself begins too late.

#include "layers/backends/pointwise/panel_products.h"

#include "base/simd.h"
#include "base/vector_types.h"

namespace robusta::pointwise {
namespace {

/// L lanes, P pixels, V vectors.
template <int L, int P, int V>
ROBUSTA_SIMD void multiply(const PanelProduct& product) {
  constexpr int64_t kAhead = 512, kLine = 16;  // floats: 2 KiB; a line of the cache
  Floats<L> sum[P][V];
  for (int p = 0; p < P; ++p) {
    for (int v = 0; v < V; ++v) sum[p][v] = floats_at<L>(product.bias + v * L);
  }
  const float *inputs = product.inputs, *weights = product.weights;
  for (int64_t block = 0; block < product.blocks; ++block, inputs += P * L) {
#pragma GCC unroll 8
    for (int lane = 0; lane < L; ++lane, weights += V * L) {
      for (int64_t line = 0; line < V * L; line += kLine) __builtin_prefetch(weights + kAhead + line);
      Floats<L> weight[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) weight[v] = floats_at<L>(weights + v * L);
#pragma GCC unroll 12
      for (int p = 0; p < P; ++p) {
        const float input = inputs[p * L + lane];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sum[p][v] += input * weight[v];
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int v = 0; v < V; ++v) {
      const int64_t at = v * product.next_vector + p * L;
      Floats<L> result = sum[p][v];
      if (product.addend) result += floats_at<L>(product.addend + at);
      floats_at<L>(product.to + at) = result > 0 ? result : product.slope * result;
    }
  }
}

using Multiply = void (*)(const PanelProduct&);

/// By pixels, from the least number of them on.
template <int V>
constexpr Multiply kOf8[] = {multiply<8, 3, V>, multiply<8, 4, V>, multiply<8, 5, V>, multiply<8, 6, V>};
template <int V>
constexpr Multiply kOf16[] = {multiply<16, 6, V>,  multiply<16, 7, V>,  multiply<16, 8, V>, multiply<16, 9, V>,
                              multiply<16, 10, V>, multiply<16, 11, V>, multiply<16, 12, V>};

}  // namespace

void multiply_panel(const PanelProduct& product, int lanes, int64_t pixels, int64_t vectors) {
  const auto which = pixels - least_pixels(lanes);
  if (lanes == 16) return (vectors == 2 ? kOf16<2> : kOf16<1>)[which](product);
  (vectors == 2 ? kOf8<2> : kOf8<1>)[which](product);
}

}  // namespace robusta::pointwise
