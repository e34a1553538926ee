// Windows of pooling layers: how many there are, and what they are divided by where they reach beyond the image.

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"
#include "layers/kit/windows.h"

namespace robusta::deploy {
namespace {

constexpr int64_t kMostTaps = int64_t{1} << 24;  // of a kernel that stands for another layer

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

std::optional<Finding> check_padded_image(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Pooling" || param.pooling_param().global_pooling()) return std::nullopt;
  const Shape& image = net.shapes(layer).bottoms[0];
  if (image.axes() != 4 || !is_padded_pooling(net, layer)) return std::nullopt;
  for (const WindowAxis& axis : read_windows(param.pooling_param(), image)) {
    if (axis.kernel != axis.in) return std::nullopt;
  }
  return Finding{"a window as large as the image is taken for global pooling: its padding is lost",
                 "pooling_param.pad"};
}

void mend_padded_image(DeployNet& net, int layer) {
  if (!is_average(net.param(layer)) || cuts_its_last_window(net, layer)) {
    refuse("pooling with padding and a window as large as the image, other than AVE of whole windows",
           "pool without padding, or by smaller windows", "pooling_param.pad");
  }
  mend_average_padding(net, layer);
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
