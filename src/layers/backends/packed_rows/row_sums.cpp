// Sums stay in registers while the outputs are added up: those of one panel, for some pixels.

#include "layers/backends/packed_rows/row_sums.h"

#include <algorithm>
#include <iterator>

#include "base/simd.h"
#include "base/stored_lanes.h"

namespace robusta::packed_rows {
namespace {

constexpr int most_vectors(int lanes) { return lanes == 16 ? 7 : 5; }

/// Pixels whose sums are in registers together. Each has one for each vector of a panel; the panel's filters and a
/// gradient are there, too: AVX-512 has 32 registers, AVX2 16.
constexpr int pixels_at_once(int lanes, int vectors) {
  constexpr int kEnough = 12;
  return std::min(kEnough, ((lanes == 16 ? 31 : 15) - vectors) / vectors);
}

/// R pixels from `pixel` on.
template <int L, int V, int R>
inline __attribute__((always_inline)) void add_pixels(const PixelGradients& from, int64_t pixel, const float* filters,
                                                      int64_t floats, float* image) {
  const float* gradients = from.gradients + pixel * from.gradient_row;
  Floats<L> sum[R][V] = {};
  for (int64_t o = 0; o < from.outputs; ++o, filters += V * L) {
    Floats<L> filter[V];
#pragma GCC unroll 7
    for (int v = 0; v < V; ++v) {
      filter[v] = floats_at<L>(filters + v * L);
      ROBUSTA_KEEP_IN_REGISTER(filter[v]);
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const float gradient = gradients[r * from.gradient_row + o];
#pragma GCC unroll 7
      for (int v = 0; v < V; ++v) sum[r][v] += gradient * filter[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
    float* to = image + from.places[pixel + r];
#pragma GCC unroll 7
    for (int v = 0; v < V; ++v) {
      Floats<L> total;
      load_some<L>(to + v * L, floats - v * L, total);
      total += sum[r][v];
      store_some<L>(total, floats - v * L, to + v * L);
    }
  }
}

template <int L, int V>
inline __attribute__((always_inline)) void add_all(const PixelGradients& from, const float* filters, int64_t floats,
                                                   float* image) {
  constexpr int kPixels = pixels_at_once(L, V);
  int64_t pixel = 0;
  for (; pixel + kPixels <= from.pixels; pixel += kPixels)
    add_pixels<L, V, kPixels>(from, pixel, filters, floats, image);
  for (; pixel < from.pixels; ++pixel) add_pixels<L, V, 1>(from, pixel, filters, floats, image);
}

template <int V>
ROBUSTA_LANES_16 void add_16(const PixelGradients& from, const float* filters, int64_t floats, float* image) {
  add_all<16, V>(from, filters, floats, image);
}

template <int V>
ROBUSTA_LANES_8 void add_8(const PixelGradients& from, const float* filters, int64_t floats, float* image) {
  add_all<8, V>(from, filters, floats, image);
}

using Add = void (*)(const PixelGradients&, const float*, int64_t, float*);
constexpr Add kAdd16[] = {add_16<1>, add_16<2>, add_16<3>, add_16<4>, add_16<5>, add_16<6>, add_16<7>};
constexpr Add kAdd8[] = {add_8<1>, add_8<2>, add_8<3>, add_8<4>, add_8<5>};
static_assert(std::size(kAdd16) == most_vectors(16) && std::size(kAdd8) == most_vectors(8));

}  // namespace

PanelShape best_panels(int64_t row, int lanes) {
  PanelShape best{};
  for (int vectors = 1; vectors <= most_vectors(lanes); ++vectors) {
    const int64_t panels = (row + vectors * lanes - 1) / (vectors * lanes);
    // Of those that leave least unused, the widest: a gradient that is read serves for all of a panel.
    if (best.vectors == 0 || panels * vectors <= best.panels * best.vectors) best = {lanes, vectors, panels};
  }
  return best;
}

void add_rows(const PanelShape& shape, const PixelGradients& from, const float* filters, int64_t floats, float* image) {
  (shape.lanes == 16 ? kAdd16 : kAdd8)[shape.vectors - 1](from, filters, floats, image);
}

}  // namespace robusta::packed_rows
