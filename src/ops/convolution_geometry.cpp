// The counts that follow from a convolution's geometry.

#include "ops/convolution_geometry.h"

namespace robusta {

Shape ConvolutionGeometry::weight_shape() const {
  std::vector<int64_t> dims{num_output, channels / group};
  for (const WindowAxis& axis : axes) dims.push_back(axis.kernel);
  return Shape(dims);
}

double ConvolutionGeometry::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(elements_out(axes)) *
         static_cast<double>(weight_shape().count());
}

}  // namespace robusta
