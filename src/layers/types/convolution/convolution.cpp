// Convolution and what it has in common with Deconvolution: shapes and parameters.

#include "layers/types/convolution/convolution.h"

#include "layers/kit/axis.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"

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

Shape ConvolutionGeometry::weight_shape() const {
  std::vector<int64_t> dims{num_output, channels / group};
  for (const WindowAxis& axis : axes) dims.push_back(axis.kernel);
  return Shape(dims);
}

double ConvolutionGeometry::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(elements_out(axes)) *
         static_cast<double>(weight_shape().count());
}

std::string spatial_axis_name(size_t axis, size_t axes) {
  if (axes == 1) return "length";
  if (axes == 2) return axis == 0 ? "height" : "width";
  if (axes == 3) return axis == 0 ? "depth" : axis == 1 ? "height" : "width";
  return str("spatial axis ", axis);
}

ConvolutionBase::ConvolutionBase(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.convolution_param();
  if (p.num_output() == 0) {
    throw Error(ErrorKind::kConfig, p.has_num_output() ? "num_output is 0" : "no num_output is given",
                "give the number of channels that this layer puts out")
        .in_field(kNumOutput);
  }
  if (p.group() == 0) throw Error(ErrorKind::kConfig, "group is 0", "use 1 for no groups").in_field(kGroup);
  if (p.relu() || p.fusion_type() != caffe::ConvolutionParameter::NONE_FUSION) {
    throw Error(ErrorKind::kUnsupported, "fused operations inside convolution_param are not supported",
                "write the ReLU or Eltwise as a layer of its own: fusing is done when the net is planned")
        .in_field(p.relu() ? "convolution_param.relu" : "convolution_param.fusion_type");
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
  geometry.group = p.group();
  geometry.axes = read_windows(p, static_cast<size_t>(bottom.axes() - axis - 1));
  complete(bottom, axis, geometry);
  require_divisible(geometry.group, geometry.channels, type() == "Deconvolution" ? "outputs" : "input channels");
  require_divisible(geometry.group, geometry.num_output, type() == "Deconvolution" ? "input channels" : "outputs");
  check_extents(geometry.weight_shape());
  weights_.settle(geometry.weight_shape(), "weights");
  geometry_ = geometry;

  std::vector<int64_t> dims = bottom.slice(0, axis).dims();
  dims.push_back(top_channels(geometry));
  for (const WindowAxis& a : geometry.axes) dims.push_back(top_extent(a));
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

double ConvolutionBase::forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
  double sum = 0;
  for (const Shape& top : tops) sum += geometry_.flops() + (has_bias() ? static_cast<double>(top.count()) : 0.0);
  return sum;
}

void ConvolutionLayer::complete(const Shape& bottom, int channel_axis, ConvolutionGeometry& geometry) const {
  geometry.channels = bottom[channel_axis];
  geometry.num_output = param().convolution_param().num_output();
  for (size_t a = 0; a < geometry.axes.size(); ++a) {
    WindowAxis& axis = geometry.axes[a];
    axis.in = bottom[channel_axis + 1 + static_cast<int>(a)];
    const int64_t room = axis.in + 2 * axis.pad - axis.extent();
    if (room < 0) {
      const std::string dilated =
          axis.dilation > 1 ? str(" (", axis.extent(), " with dilation ", axis.dilation, ")") : "";
      const std::string padded = axis.pad > 0 ? str(" plus 2 x ", axis.pad, " of padding") : "";
      throw Error(ErrorKind::kConfig,
                  str("kernel_size ", axis.kernel, dilated, " exceeds input ",
                      spatial_axis_name(a, geometry.axes.size()), " ", axis.in, padded),
                  "use a smaller kernel, more padding or a larger input")
          .in_field("convolution_param.kernel_size");
    }
    axis.out = room / axis.stride + 1;
  }
}

ROBUSTA_REGISTER_LAYER("Convolution", ConvolutionLayer);

}  // namespace robusta
