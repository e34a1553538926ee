/// The filter transform of weights, and its transpose for their gradients.
#pragma once

#include <cstdint>

#include "layers/backends/winograd/tile_products.h"

namespace robusta::winograd {

/// One group of plain weights [outputs, inputs, taps, taps] as the pass at hand sees them: the gradient of the data
/// swaps outputs with inputs and mirrors the taps. Counts are those of channels that there are; the transformed domain
/// pads outputs to whole vectors and inputs, of which a product takes one after another, to a few, with zeros.
struct FilterView {
  int64_t outputs, inputs;
  int64_t output_stride, input_stride;  ///< in floats
  int taps;                             ///< 3 or 5
  bool mirrored;                        ///< of the data's gradient
  int64_t lanes;                        ///< of a vector: 8 or 16

  int64_t padded_outputs() const { return (outputs + lanes - 1) / lanes * lanes; }
  int64_t padded_inputs() const { return (inputs + kInputs - 1) / kInputs * kInputs; }
  /// Floats from one point to the next: a cache line more than needed, lest all points meet in one set of the cache.
  int64_t stride() const { return padded_outputs() * padded_inputs() + 16; }
  /// Floats of all 36 points.
  int64_t transformed() const { return 36 * stride(); }
};

/// The filter transform: to[point][output / lanes][input][output % lanes]. Uses all threads.
void transform_filters(const FilterView& view, const float* weights, float* to);

/// weights (+)= the output transform of the sums of products, added up over `parts` arrays [point][input][output] that
/// lie one after another. Uses all threads.
void transform_filter_gradients(const FilterView& view, const float* sums, int64_t parts, bool add, float* weights);

}  // namespace robusta::winograd
