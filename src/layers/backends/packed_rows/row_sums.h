/// The product behind the gradient of packed images, whose pixels have their channels right behind one another: what a
/// row of a window adds to is one array, of which only the last vector may be filled in part.
///
/// Filters lie in panels of as many floats of such a row as registers hold sums for: [output][floats of the panel].
#pragma once

#include <cstdint>

namespace robusta::packed_rows {

/// How many floats of a row are computed together.
struct PanelShape {
  int lanes, vectors;  ///< of a vector; of a panel
  int64_t panels;      ///< of a row

  int64_t width() const { return int64_t{vectors} * lanes; }
  int64_t row_floats() const { return panels * width(); }
};

/// Panels that leave less than a vector of a row of so many floats unused. REQUIRES: lanes 8 or 16.
PanelShape best_panels(int64_t row, int lanes);

/// Gradients of an image's results, [pixel][gradient_row], and the place in the image that each pixel's row begins at.
struct PixelGradients {
  const float* gradients;
  int64_t gradient_row, outputs;
  const int64_t* places;
  int64_t pixels;
};

/// image[place + i] += the sum over outputs of gradients[pixel][output] * filters[output][i], for the first `floats` of
/// a panel.
void add_rows(const PanelShape& shape, const PixelGradients& from, const float* filters, int64_t floats, float* image);

}  // namespace robusta::packed_rows
