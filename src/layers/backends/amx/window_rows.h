/// A convolution as a sum of matrix products: which numbers of the image each of them multiplies.
///
/// Usually there is a product for each tap of the filters, whose terms are pixels and whose lines are their channels.
/// Of an image with few channels, which would fill a tile badly, the taps of a row of the window are taken together:
/// with channels last they lie beside one another, if the image has its padding around it.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/amx/ranges.h"
#include "ops/convolution_geometry.h"

namespace robusta::amx {

class WindowRows {
 public:
  /// REQUIRES: two spatial axes, one group.
  explicit WindowRows(const ConvolutionGeometry& geometry);

  int64_t products() const { return products_; }
  int64_t lines() const { return lines_; }

  /// Bytes of a copy of the images with padding; 0: it takes none.
  size_t padded_bytes() const;
  /// Makes that copy of images in bf16, channels last. Returns what find() is to look at.
  const uint16_t* pad(const uint16_t* images, void* memory) const;

  /// Where the lines begin that these pixels of the results see; pixels are counted over the batch.
  void find(const uint16_t* images, int64_t product, Range pixels, const uint16_t** places) const;

  /// Where the filters of an output have the weight of a line: at(line) + at_product(product).
  int64_t at(int64_t line) const { return at_[static_cast<size_t>(line)]; }
  int64_t at_product(int64_t product) const { return joins_ ? product * x().kernel : product; }
  /// True where at() is the line itself.
  bool is_in_order() const { return taps() == 1; }

 private:
  const WindowAxis& y() const { return geometry_.axes[0]; }
  const WindowAxis& x() const { return geometry_.axes[1]; }
  /// The same of a row of results, of which some are seen.
  void find_in_row(const uint16_t* row, int64_t first_column, Range results, const uint16_t** places) const;
  int64_t taps() const { return y().kernel * x().kernel; }

  ConvolutionGeometry geometry_;
  bool joins_;  // taps of a row
  bool pads_;
  int64_t products_, lines_, width_;  // pixels in a row of the images
  std::vector<int64_t> at_;
  std::vector<uint16_t> zeros_;  // what is seen beside the image
};

}  // namespace robusta::amx
