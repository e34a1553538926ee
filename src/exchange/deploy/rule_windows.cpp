// Windows of convolutions.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"
#include "layers/kit/windows.h"

namespace robusta::deploy {
namespace {

bool is_convolution(const caffe::LayerParameter& layer) {
  return layer.type() == "Convolution" || layer.type() == "Deconvolution";
}

/// Those of a convolution over images; none for other layers, and other numbers of axes.
std::vector<WindowAxis> image_windows(const DeployNet& net, int layer) {
  if (!is_convolution(net.param(layer))) return {};
  const Shape& bottom = net.shapes(layer).bottoms[0];
  const caffe::ConvolutionParameter& p = net.param(layer).convolution_param();
  return bottom.axes() == 4 && p.axis() == 1 ? read_windows(p, size_t{2}) : std::vector<WindowAxis>{};
}

/// The taps of each kernel moved apart, with zeros between.
BlobData spread(const BlobData& weights, int64_t down, int64_t across) {
  const int64_t rows = weights.shape[2], columns = weights.shape[3];
  BlobData wide{.shape = weights.shape, .legacy_dims = false, .data = {}};
  wide.shape[2] = (rows - 1) * down + 1;
  wide.shape[3] = (columns - 1) * across + 1;
  const int64_t planes = weights.shape[0] * weights.shape[1], plane = wide.shape[2] * wide.shape[3];
  wide.data.resize(static_cast<size_t>(planes * plane));
  for (int64_t k = 0; k < static_cast<int64_t>(weights.data.size()); ++k) {
    const int64_t row = k / columns % rows, column = k % columns;
    const int64_t to = k / (rows * columns) * plane + row * down * wide.shape[3] + column * across;
    wide.data[static_cast<size_t>(to)] = weights.data[static_cast<size_t>(k)];
  }
  return wide;
}

bool is_padded(const caffe::ConvolutionParameter& p) {
  return p.pad_t() != 0 || p.pad_b() != 0 || p.pad_l() != 0 || p.pad_r() != 0 || p.pad_type() != 0;
}

[[noreturn]] void refuse(const std::string& cause, const std::string& fix, const char* field) {
  throw Error(ErrorKind::kUnsupported, cause, fix).in_field(field);
}

}  // namespace

std::optional<Finding> check_equal_dilations(const DeployNet& net, int layer) {
  const std::vector<WindowAxis> axes = image_windows(net, layer);
  if (axes.empty() || axes[0].dilation == axes[1].dilation) return std::nullopt;
  return Finding{str("dilations ", axes[0].dilation, " and ", axes[1].dilation), "convolution_param.dilation"};
}

void mend_equal_dilations(DeployNet& net, int layer) {
  std::vector<WindowAxis> axes = image_windows(net, layer);
  caffe::ConvolutionParameter* p = net.param(layer).mutable_convolution_param();
  if (is_padded(*p)) refuse("padding of each side and two dilations", "give pad_h and pad_w", "convolution_param");
  constexpr int64_t kLargest = 1024;
  if (axes[0].extent() > kLargest || axes[1].extent() > kLargest) {
    refuse("a kernel with zeros in place of its dilation would be too large", "take equal dilations",
           "convolution_param.dilation");
  }
  for (BlobData& weights : net.at(layer).arrays) {
    if (weights.shape.size() == 4) weights = spread(weights, axes[0].dilation, axes[1].dilation);
  }
  for (WindowAxis& axis : axes) axis.kernel = axis.extent(), axis.dilation = 1;
  write_windows(axes, p);
  net.change();
}

std::optional<Finding> check_kernel_h_w(const DeployNet& net, int layer) {
  if (!is_convolution(net.param(layer))) return std::nullopt;
  const caffe::ConvolutionParameter& p = net.param(layer).convolution_param();
  const char* field = p.kernel_size_size() == 2 ? "kernel_size" : p.pad_size() == 2 ? "pad" : "stride";
  if (p.kernel_size_size() != 2 && p.pad_size() != 2 && p.stride_size() != 2) return std::nullopt;
  if (image_windows(net, layer).empty()) return std::nullopt;
  return Finding{str("two values of ", field, " are swapped or misread"), str("convolution_param.", field)};
}

void mend_kernel_h_w(DeployNet& net, int layer) {
  caffe::ConvolutionParameter* p = net.param(layer).mutable_convolution_param();
  if (is_padded(*p)) refuse("padding of each side beside lists", "give kernel_h, kernel_w", "convolution_param");
  const std::vector<WindowAxis> axes = image_windows(net, layer);
  if (axes[0].dilation != axes[1].dilation) {
    const auto dilation = p->dilation();
    write_windows(axes, p);
    *p->mutable_dilation() = dilation;
  } else {
    write_windows(axes, p);
  }
  net.change();
}

std::optional<Finding> check_kernel_axes(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Convolution") return std::nullopt;
  const caffe::ConvolutionParameter& p = net.param(layer).convolution_param();
  const int axes = net.shapes(layer).bottoms[0].axes() - p.axis() - 1;
  if (axes <= 2 || p.axis() < 0 || p.kernel_size_size() == axes) return std::nullopt;
  return Finding{str("one kernel_size for ", axes, " axes is not understood"), "convolution_param.kernel_size"};
}

void mend_kernel_axes(DeployNet& net, int layer) {
  caffe::ConvolutionParameter* p = net.param(layer).mutable_convolution_param();
  const int axes = net.shapes(layer).bottoms[0].axes() - p->axis() - 1;
  const std::vector<WindowAxis> windows = read_windows(*p, static_cast<size_t>(axes));
  p->clear_kernel_size(), p->clear_pad(), p->clear_stride(), p->clear_dilation();
  for (const WindowAxis& axis : windows) {
    p->add_kernel_size(static_cast<uint32_t>(axis.kernel));
    p->add_pad(static_cast<uint32_t>(axis.pad));
    p->add_stride(static_cast<uint32_t>(axis.stride));
    p->add_dilation(static_cast<uint32_t>(axis.dilation));
  }
  net.change();
}

}  // namespace robusta::deploy
