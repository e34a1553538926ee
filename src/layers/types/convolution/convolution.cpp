// Convolution: shapes, and the reference kernel.

#include "layers/types/convolution/convolution.h"

#include "layers/kit/gemm_convolution_kernel.h"
#include "layers/kit/windows.h"

namespace robusta {

void ConvolutionLayer::complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const {
  geometry.channels = bottom[channel_axis];
  geometry.num_output = param().convolution_param().num_output();
  set_convolved_extents(param().convolution_param(), bottom, channel_axis, geometry.axes);
}

namespace {

template <typename T>
using ConvolutionReference = GemmConvolutionKernel<T>;

}  // namespace

ROBUSTA_REGISTER_LAYER("Convolution", ConvolutionLayer);
ROBUSTA_REGISTER_REFERENCE("Convolution", ConvolutionReference);

}  // namespace robusta
