// Convolution: shapes, and how it is cut among ranks.

#include "layers/types/convolution/convolution.h"

#include <cassert>

#include "base/str.h"
#include "layers/kit/windows.h"

namespace robusta {

void ConvolutionLayer::complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const {
  geometry.channels = bottom[channel_axis];
  geometry.num_output = param().convolution_param().num_output();
  set_convolved_extents(param().convolution_param(), bottom, channel_axis, geometry.axes);
}

void ConvolutionLayer::cut(ModelGroup& group) {
  const int64_t parts = group.parts();
  [[maybe_unused]] const int64_t groups = param().convolution_param().group();
  assert(param().bottom_size() == 1 && (groups == 1 || groups % parts == 0));
  if (num_output() % parts != 0) {
    throw Error(ErrorKind::kConfig,
                str("num_output ", num_output(), " cannot be cut into ", parts, " equal parts (model_parts)"),
                str("give a multiple of ", parts, ", such as ", (num_output() / parts + 1) * parts,
                    ", or model_parts that divide it"))
        .in_field("convolution_param.num_output");
  }
  group_ = &group;
}

ROBUSTA_REGISTER_LAYER("Convolution", ConvolutionLayer);

}  // namespace robusta
