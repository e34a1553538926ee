// Convolution: shapes, and the reference kernel.

#include "layers/types/convolution/convolution.h"

#include "layers/kit/gemm_convolution_kernel.h"
#include "layers/kit/windows.h"

namespace robusta {

void ConvolutionLayer::complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const {
  geometry.channels = bottom[channel_axis];
  geometry.num_output = param().convolution_param().num_output();
  for (size_t a = 0; a < geometry.axes.size(); ++a) {
    WindowAxis& axis = geometry.axes[a];
    axis.in = bottom[channel_axis + 1 + static_cast<int>(a)];
    const int64_t room = axis.in + 2 * axis.pad - axis.extent();
    if (room < 0) throw window_exceeds_input("convolution_param", geometry.axes, a);
    axis.out = room / axis.stride + 1;
  }
}

namespace {

template <typename T>
using ConvolutionReference = GemmConvolutionKernel<T>;

}  // namespace

ROBUSTA_REGISTER_LAYER("Convolution", ConvolutionLayer);
ROBUSTA_REGISTER_REFERENCE("Convolution", ConvolutionReference);

}  // namespace robusta
