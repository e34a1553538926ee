/// The geometry of a convolution over any number of spatial axes, with groups.
///
/// Cross-correlation, as in Caffe: taps are not mirrored. A deconvolution is the transpose of a convolution, so it is
/// described by the geometry of that convolution: its own input has `num_output` channels and extents `out`, its own
/// output `channels` and `in`.
#pragma once

#include <vector>

#include "ops/window.h"
#include "tensor/shape.h"

namespace robusta {

/// One image set through one convolution: [batch, channels, in...] to [batch, num_output, out...].
struct ConvolutionGeometry {
  int64_t batch = 1;                                ///< all axes before the channel axis
  int64_t channels = 1, num_output = 1, group = 1;  ///< of all groups together; how many groups
  std::vector<WindowAxis> axes;                     ///< spatial axes; there may be none

  /// num_output, channels / group, kernel...
  Shape weight_shape() const;
  /// Of one pass, a multiply-add counted as two, padding included.
  double flops() const;
  friend bool operator==(const ConvolutionGeometry&, const ConvolutionGeometry&) = default;
};

}  // namespace robusta
