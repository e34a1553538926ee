// Deconvolution: shapes.

#include "layers/types/deconvolution/deconvolution.h"

#include "base/str.h"

namespace robusta {

void DeconvolutionLayer::complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const {
  geometry.channels = param().convolution_param().num_output();
  geometry.num_output = bottom[channel_axis];
  for (size_t a = 0; a < geometry.axes.size(); ++a) {
    WindowAxis& axis = geometry.axes[a];
    axis.out = bottom[channel_axis + 1 + static_cast<int>(a)];
    axis.in = axis.stride * (axis.out - 1) + axis.extent() - 2 * axis.pad;
    if (axis.in < 1) {
      throw Error(ErrorKind::kConfig,
                  str("pad ", axis.pad, " leaves nothing of the output: its ",
                      spatial_axis_name(a, geometry.axes.size()), " would be ", axis.in),
                  "use less padding or a larger kernel")
          .in_field("convolution_param.pad");
    }
  }
}

ROBUSTA_REGISTER_LAYER("Deconvolution", DeconvolutionLayer);

}  // namespace robusta
