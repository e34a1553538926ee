// What follows from a convolution problem: the weights' extents, and the key under which its tuning is recorded.

#include "layers/backends/onednn/convolution_problem.h"

#include "base/str.h"
#include "layers/backends/onednn/layout.h"

namespace robusta::onednn {

Dims ConvolutionProblem::weight_dims() const {
  Dims dims = dims_of(geometry.weight_shape());
  if (geometry.group == 1) return dims;
  dims[0] /= geometry.group;
  dims.insert(dims.begin(), geometry.group);
  return dims;
}

std::string ConvolutionProblem::key(Direction direction) const {
  const char* names[] = {"forward", "backward_data", "backward_weights"};
  std::string key = str("convolution/", names[static_cast<int>(direction)], "/n", geometry.batch, "g", geometry.group,
                        "ic", geometry.channels, "oc", geometry.num_output);
  for (const WindowAxis& a : geometry.axes) {
    key += str("_i", a.in, "k", a.kernel, "s", a.stride, "p", a.pad, "d", a.dilation);
    if (a.more_pad_behind != 0) key += str("b", a.pad_behind());
  }
  auto format = [](const Desc& desc) { return layout_name(layout_of(desc)); };
  return key + "/" + format(src) + "-" + format(dst) + (bias ? "/bias" : "") + (adds ? "/add" : "") +
         (relu ? "/relu" : "") + (moments_follow ? "/moments" : "") + (inference ? "/inference" : "") +
         (type == DType::kF32 ? "" : str("/", name_of(type)));
}

}  // namespace robusta::onednn
