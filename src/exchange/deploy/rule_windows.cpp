// Windows of convolutions and pooling layers.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "layers/kit/windows.h"

namespace robusta::deploy {
namespace {

constexpr int64_t kMostTaps = int64_t{1} << 24;  // of a kernel that stands for another layer

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

/// A Convolution for each channel by itself that leaves out the last `rows` and `columns`: y(i, j) = x(i, j).
caffe::LayerParameter crop_layer(int64_t channels, int64_t rows, int64_t columns) {
  caffe::LayerParameter layer;
  layer.set_type("Convolution");
  caffe::ConvolutionParameter* p = layer.mutable_convolution_param();
  p->set_num_output(static_cast<uint32_t>(channels));
  p->set_group(static_cast<uint32_t>(channels));
  p->set_bias_term(false);
  p->set_kernel_h(static_cast<uint32_t>(1 + rows));
  p->set_kernel_w(static_cast<uint32_t>(1 + columns));
  return layer;
}

BlobData first_taps(int64_t channels, int64_t rows, int64_t columns) {
  BlobData weights{.shape = {channels, 1, 1 + rows, 1 + columns}, .legacy_dims = false, .data = {}};
  const auto taps = static_cast<size_t>((1 + rows) * (1 + columns));
  weights.data.resize(static_cast<size_t>(channels) * taps);
  for (size_t at = 0; at < weights.data.size(); at += taps) weights.data[at] = 1;
  return weights;
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

/// One field for both axes where they agree, else one for each.
template <typename Clear, typename Both, typename Own>
void set_pair(std::pair<int64_t, int64_t> values, int64_t standard, Clear clear, Both both, Own own) {
  clear();
  if (values.first == values.second) {
    if (values.first != standard) both(static_cast<uint32_t>(values.first));
  } else {
    own(static_cast<uint32_t>(values.first), static_cast<uint32_t>(values.second));
  }
}

void write_windows(const std::vector<WindowAxis>& axes, caffe::ConvolutionParameter* p) {
  set_pair(
      {axes[0].kernel, axes[1].kernel}, 0,  //
      [&] { p->clear_kernel_size(), p->clear_kernel_h(), p->clear_kernel_w(); },
      [&](uint32_t k) { p->add_kernel_size(k); },
      [&](uint32_t h, uint32_t w) { p->set_kernel_h(h), p->set_kernel_w(w); });
  set_pair(
      {axes[0].pad, axes[1].pad}, 0,  //
      [&] { p->clear_pad(), p->clear_pad_h(), p->clear_pad_w(); }, [&](uint32_t k) { p->add_pad(k); },
      [&](uint32_t h, uint32_t w) { p->set_pad_h(h), p->set_pad_w(w); });
  set_pair(
      {axes[0].stride, axes[1].stride}, 1,  //
      [&] { p->clear_stride(), p->clear_stride_h(), p->clear_stride_w(); }, [&](uint32_t k) { p->add_stride(k); },
      [&](uint32_t h, uint32_t w) { p->set_stride_h(h), p->set_stride_w(w); });
  p->clear_dilation();
  if (axes[0].dilation != 1) p->add_dilation(static_cast<uint32_t>(axes[0].dilation));
}

bool is_padded(const caffe::ConvolutionParameter& p) {
  return p.pad_t() != 0 || p.pad_b() != 0 || p.pad_l() != 0 || p.pad_r() != 0 || p.pad_type() != 0;
}

[[noreturn]] void refuse(const std::string& cause, const std::string& fix, const char* field) {
  throw Error(ErrorKind::kUnsupported, cause, fix).in_field(field);
}

bool is_average(const caffe::LayerParameter& layer) {
  return layer.type() == "Pooling" && layer.pooling_param().pool() == caffe::PoolingParameter::AVE &&
         !layer.pooling_param().global_pooling();
}

bool is_padded_pooling(const DeployNet& net, int layer) {
  const caffe::PoolingParameter& p = net.param(layer).pooling_param();
  return p.pad() != 0 || p.pad_h() != 0 || p.pad_w() != 0;
}

/// Whether it reaches beyond the image and its padding.
bool cuts_its_last_window(const DeployNet& net, int layer) {
  const LayerShapes& shapes = net.shapes(layer);
  const std::vector<WindowAxis> axes = read_windows(net.param(layer).pooling_param(), shapes.bottoms[0]);
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t last = (shapes.tops[0][static_cast<int>(a) + 2] - 1) * axes[a].stride + axes[a].extent();
    if (last > axes[a].padded_in()) return true;
  }
  return false;
}

}  // namespace

std::optional<Finding> check_floor_pooling(const DeployNet& net, int layer) {
  const caffe::PoolingParameter& p = net.param(layer).pooling_param();
  if (net.param(layer).type() != "Pooling") return std::nullopt;
  if (p.has_round_mode()) return Finding{"round_mode is unknown to readers or ignored", "pooling_param.round_mode"};
  if (p.has_ceil_mode()) return Finding{"ceil_mode is unknown to readers", "pooling_param.ceil_mode"};
  return std::nullopt;
}

void mend_floor_pooling(DeployNet& net, int layer) {
  const Shape down = net.shapes(layer).tops[0];
  caffe::PoolingParameter* p = net.param(layer).mutable_pooling_param();
  p->clear_round_mode();
  p->clear_ceil_mode();
  net.change();
  const Shape up = net.shapes(layer).tops[0];
  if (up == down) return;
  if (up.axes() != 4 || net.param(layer).top_size() != 1 || p->pool() == caffe::PoolingParameter::STOCHASTIC) {
    refuse(
        "rounding down gives another size here than rounding up, and only images' MAX and AVE pooling with one top "
        "are rewritten",
        "choose a padding or a size of the input for which windows end where the image does", "pooling_param");
  }
  // Windows begin at the same places whichever way the number of them is rounded; there is one more behind the others.
  const int64_t rows = up[2] - down[2], columns = up[3] - down[3];
  net.append_behind(layer, crop_layer(up[1], rows, columns), "_crop", {first_taps(up[1], rows, columns)});
}

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

std::optional<Finding> check_average_padding(const DeployNet& net, int layer) {
  if (!is_average(net.param(layer)) || !is_padded_pooling(net, layer) || cuts_its_last_window(net, layer)) {
    return std::nullopt;
  }
  return Finding{"AVE pooling with padding: programs count the padding differently", "pooling_param.pad"};
}

/// The mean of whole windows, in whose padding are zeros: a Convolution of each channel by itself.
void mend_average_padding(DeployNet& net, int layer) {
  const LayerShapes shapes = net.shapes(layer);
  caffe::LayerParameter& param = net.param(layer);
  if (shapes.bottoms[0].axes() != 4 || param.top_size() != 1) {
    refuse("AVE pooling with padding over other than images", "pool without padding", "pooling_param.pad");
  }
  const std::vector<WindowAxis> axes = read_windows(param.pooling_param(), shapes.bottoms[0]);
  const int64_t channels = shapes.bottoms[0][1], taps = axes[0].kernel * axes[1].kernel;
  if (taps > kMostTaps / channels)
    refuse("AVE pooling with padding, whose windows have too many pixels in all channels", "pool without padding",
           "pooling_param.pad");
  param.clear_pooling_param();
  param.set_type("Convolution");
  caffe::ConvolutionParameter* p = param.mutable_convolution_param();
  p->set_num_output(static_cast<uint32_t>(channels));
  p->set_group(static_cast<uint32_t>(channels));
  p->set_bias_term(false);
  write_windows(axes, p);
  BlobData mean{.shape = {channels, 1, axes[0].kernel, axes[1].kernel}, .legacy_dims = false, .data = {}};
  mean.data.assign(static_cast<size_t>(channels * taps), 1 / static_cast<float>(taps));
  net.at(layer).arrays = {std::move(mean)};
  net.change();
}

std::optional<Finding> check_average_both(const DeployNet& net, int layer) {
  if (!is_average(net.param(layer)) || !is_padded_pooling(net, layer) || !cuts_its_last_window(net, layer)) {
    return std::nullopt;
  }
  return Finding{"the last window of AVE pooling with padding is cut: programs divide it differently", "pooling_param"};
}

std::optional<Finding> check_average_cut(const DeployNet& net, int layer) {
  if (!is_average(net.param(layer)) || !cuts_its_last_window(net, layer)) return std::nullopt;
  return Finding{"the last window of AVE pooling is cut: programs divide it differently", "pooling_param"};
}

}  // namespace robusta::deploy
