// Shapes and parameters of Convolution and Deconvolution.

#include "layers/kit/convolution_base.h"

#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/windows.h"

namespace robusta {
namespace {

constexpr const char* kNumOutput = "convolution_param.num_output";
constexpr const char* kGroup = "convolution_param.group";

void require_divisible(int64_t group, int64_t channels, const char* what) {
  if (channels % group == 0) return;
  throw Error(ErrorKind::kConfig, str("group ", group, " does not divide the ", channels, " ", what),
              str("make both multiples of group"))
      .in_field(kGroup);
}

}  // namespace

ConvolutionBase::ConvolutionBase(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.convolution_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of channels that this layer puts out")
        .in_field(kNumOutput);
  }
  if (p.group() == 0) throw Error(ErrorKind::kConfig, "group is 0", "use 1 for no groups").in_field(kGroup);
  if (p.fusion_type() != caffe::ConvolutionParameter::NONE_FUSION) {
    throw Error(ErrorKind::kUnsupported, "a sum inside of convolution_param is not supported",
                "write the Eltwise as a layer of its own: fusing is done when the net is planned")
        .in_field("convolution_param.fusion_type");
  }
}

std::vector<Shape> ConvolutionBase::infer_tops(const std::vector<Shape>& bottoms) {
  require_same_shapes(bottoms);
  require_elements(bottoms);
  const auto& p = param().convolution_param();
  const Shape& bottom = bottoms[0];
  const int axis = canonical_axis(bottom, p.axis(), "convolution_param.axis");

  ConvolutionGeometry geometry;
  geometry.batch = bottom.count(0, axis);
  geometry.group = groups(bottom[axis]);
  geometry.axes = read_windows(p, static_cast<size_t>(bottom.axes() - axis - 1));
  complete(bottom, axis, geometry);
  require_divisible(geometry.group, geometry.channels, is_transposed() ? "outputs" : "input channels");
  require_divisible(geometry.group, geometry.num_output, is_transposed() ? "input channels" : "outputs");
  check_extents(geometry.weight_shape());
  weights_.fix(geometry.weight_shape(), "weights");
  geometry_ = geometry;

  std::vector<int64_t> dims = bottom.slice(0, axis).dims();
  dims.push_back(top_channels());
  for (const WindowAxis& a : geometry.axes) dims.push_back(is_transposed() ? a.in : a.out);
  const Shape top(dims);
  check_extents(top);
  return std::vector<Shape>(bottoms.size(), top);
}

std::vector<ParamDecl> ConvolutionBase::params() const {
  const auto& p = param().convolution_param();
  std::vector<ParamDecl> decls{{weights_.get(), &p.weight_filler()}};
  check_filler(p.weight_filler(), decls[0].shape, "convolution_param.weight_filler");
  if (!has_bias()) return decls;
  decls.push_back({Shape{p.num_output()}, &p.bias_filler()});
  check_filler(p.bias_filler(), decls[1].shape, "convolution_param.bias_filler");
  return decls;
}

std::optional<std::vector<AxisMap>> ConvolutionBase::alignment(const Shape&, const Shape&) const {
  std::vector<AxisMap> maps = window_alignment(geometry_.axes);
  if (!is_transposed()) return maps;
  for (AxisMap& map : maps) map = {1 / map.scale, -map.shift / map.scale};
  return maps;
}

double ConvolutionBase::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  double sum = 0;
  for (const Shape& top : tops) sum += geometry_.flops() + (has_bias() ? static_cast<double>(top.count()) : 0.0);
  return sum;
}

}  // namespace robusta
