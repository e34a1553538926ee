/// Convolution: what its kernels share.
#pragma once

#include "layers/kit/convolution_base.h"

namespace robusta {

/// The bottom is the input of geometry()'s convolution, the top its output.
class ConvolutionLayer : public ConvolutionBase {
 public:
  using ConvolutionBase::ConvolutionBase;
  bool is_transposed() const override { return false; }

 protected:
  void complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const override;
};

}  // namespace robusta
