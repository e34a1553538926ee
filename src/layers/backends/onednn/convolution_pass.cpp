#include "layers/backends/onednn/convolution_pass.h"

#include <algorithm>

#include "base/str.h"
#include "layers/backends/onednn/convolution_groups.h"
#include "layers/backends/onednn/convolution_primitive.h"
#include "layers/backends/winograd/winograd_pass.h"

namespace robusta::onednn {
namespace {

bool is_3x3_stride_1(const ConvolutionGeometry& geometry) {
  return geometry.axes.size() == 2 &&
         std::all_of(geometry.axes.begin(), geometry.axes.end(),
                     [](const WindowAxis& axis) { return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1; });
}

/// Measured over the 3x3 and 5x5 layers of LeNet, AlexNet, GoogLeNet, ResNet-50 and VGG-16 (Zen 5, 2 threads): Winograd
/// took 0.35 to 0.9 of the time of the direct kernel, in each direction, down to 7x7 images of 16 samples. Below these
/// sizes the transforms cost more than they save, and their rounding (about 1e-5) buys nothing.
bool winograd_pays(const ConvolutionGeometry& geometry) {
  constexpr int64_t kChannels = 64, kChannels5x5 = 16, kPixels = 512;
  const int64_t least = geometry.axes.empty() || geometry.axes[0].kernel == 3 ? kChannels : kChannels5x5;
  return geometry.channels / geometry.group >= least && geometry.num_output / geometry.group >= least &&
         geometry.batch * elements_out(geometry.axes) >= kPixels;
}

}  // namespace

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
  }
  auto format = [](const Desc& desc) { return layout_name(layout_of(desc)); };
  return key + "/" + format(src) + "-" + format(dst) + (bias ? "/bias" : "") + (relu ? "/relu" : "") +
         (inference ? "/inference" : "");
}

bool prefers_blocks(const ConvolutionGeometry& geometry) {
  constexpr int64_t kImageChannels = 4;
  if (geometry.channels <= kImageChannels) return winograd::has_wide_vectors();
  return winograd::can_run(geometry) && winograd_pays(geometry);
}

ConvolutionPasses convolution_passes(Direction direction, const ConvolutionProblem& problem) {
  ConvolutionPasses passes;
  winograd::add_passes(direction, problem, passes);
  if (is_3x3_stride_1(problem.geometry)) {
    if (problem.geometry.group == 1) {
      add_primitive_passes(direction, problem, dnnl::algorithm::convolution_winograd, passes);
    } else {
      add_group_passes(direction, problem, passes);
    }
  }
  const auto others = static_cast<std::ptrdiff_t>(passes.size());
  add_primitive_passes(direction, problem, dnnl::algorithm::convolution_direct, passes);
  if (!winograd_pays(problem.geometry)) std::rotate(passes.begin(), passes.begin() + others, passes.end());
  return passes;
}

}  // namespace robusta::onednn
