/// Deconvolution: the transpose of a convolution.
#pragma once

#include "layers/types/convolution/convolution.h"

namespace robusta {

/// geometry() is that of the convolution which takes our top as its input: `channels` are those of our top,
/// `num_output` those of our bottom, `in` is the extent of the top and `out` that of the bottom.
class DeconvolutionLayer : public ConvolutionBase {
 public:
  using ConvolutionBase::ConvolutionBase;

 protected:
  void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const override;
  int64_t top_channels(const ConvolutionGeometry& geometry) const override { return geometry.channels; }
  int64_t top_extent(const WindowAxis& axis) const override { return axis.in; }
};

}  // namespace robusta
