// Scales, biases and slopes, in the one form that most readers know: an array along the channels.

#include <algorithm>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {
namespace {

/// One number for all channels becomes one for each.
void repeat(BlobData& array, int64_t channels) {
  if (!array.data.empty()) array.data.assign(static_cast<size_t>(channels), array.data[0]);
  array.shape = {channels};
}

BlobData ones_like(const BlobData& array) {
  BlobData ones = array;
  std::fill(ones.data.begin(), ones.data.end(), 1.0f);
  return ones;
}

/// A Scale by ones that adds `bias`; without arrays where the layer has none (lint).
void make_scale_of_bias(caffe::LayerParameter* layer, std::vector<BlobData>& arrays, int axis, int axes) {
  layer->set_type("Scale");
  layer->mutable_scale_param()->set_bias_term(true);
  if (axis != 1) layer->mutable_scale_param()->set_axis(axis);
  if (axes != 1) layer->mutable_scale_param()->set_num_axes(axes);
  if (!arrays.empty()) arrays.insert(arrays.begin(), ones_like(arrays[0]));
}

constexpr int64_t kMostPixels = int64_t{1} << 24;  // of all channels, each a tap of a kernel

bool has_channels(const DeployNet& net, int layer) { return net.shapes(layer).bottoms[0].axes() >= 2; }

}  // namespace

std::optional<Finding> check_bias_scale(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Bias") return std::nullopt;
  const std::vector<Shape>& bottoms = net.shapes(layer).bottoms;
  if (bottoms.size() == 2 && bottoms[0] != bottoms[1]) return std::nullopt;  // other rules refuse the type
  return Finding{"a Bias is not understood", "type"};
}

void mend_bias_scale(DeployNet& net, int layer) {
  caffe::LayerParameter& param = net.param(layer);
  const caffe::BiasParameter bias = param.bias_param();
  param.clear_bias_param();
  if (param.bottom_size() == 2) {
    param.set_type("Eltwise");
  } else {
    make_scale_of_bias(&param, net.at(layer).arrays, bias.axis(), bias.num_axes());
  }
  net.change();
}

std::optional<Finding> check_scale_alone(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Scale" || param.bottom_size() != 2 || !param.scale_param().bias_term()) return std::nullopt;
  return Finding{"the bias of a Scale of two bottoms is passed over", "scale_param.bias_term"};
}

void mend_scale_alone(DeployNet& net, int layer) {
  const int axes = net.shapes(layer).bottoms[1].axes();
  caffe::ScaleParameter* p = net.param(layer).mutable_scale_param();
  p->clear_bias_term();
  std::vector<BlobData> arrays = std::move(net.at(layer).arrays);
  net.at(layer).arrays.clear();
  caffe::LayerParameter bias;
  make_scale_of_bias(&bias, arrays, p->axis(), axes);
  net.append_behind(layer, bias, "_bias", std::move(arrays));
}

std::optional<Finding> check_channel_scale(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Scale" || param.bottom_size() != 1 || param.scale_param().num_axes() != 0) return std::nullopt;
  if (!has_channels(net, layer)) return std::nullopt;
  return Finding{"one factor for all channels is not understood", "scale_param.num_axes"};
}

void mend_channel_scale(DeployNet& net, int layer) {
  const int64_t channels = net.shapes(layer).bottoms[0][1];
  net.param(layer).mutable_scale_param()->clear_num_axes();
  net.param(layer).mutable_scale_param()->clear_axis();
  for (BlobData& array : net.at(layer).arrays) repeat(array, channels);
  net.change();
}

std::optional<Finding> check_channel_slopes(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "PReLU" || !net.param(layer).prelu_param().channel_shared()) return std::nullopt;
  return Finding{"one slope for all channels is not understood", "prelu_param.channel_shared"};
}

void mend_channel_slopes(DeployNet& net, int layer) {
  const int64_t channels = net.shapes(layer).bottoms[0][1];
  net.param(layer).mutable_prelu_param()->clear_channel_shared();
  for (BlobData& array : net.at(layer).arrays) repeat(array, channels);
  net.change();
}

std::optional<Finding> check_gate_product(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  if (param.type() != "Scale" || param.bottom_size() != 2 || param.scale_param().bias_term()) return std::nullopt;
  const std::vector<Shape>& bottoms = net.shapes(layer).bottoms;
  if (bottoms[0].axes() != 4 || bottoms[1] != Shape{bottoms[0][0], bottoms[0][1]}) return std::nullopt;
  if (bottoms[0].count(1) > kMostPixels) return std::nullopt;  // the table of types refuses it
  return Finding{"a Scale of two bottoms is not understood", "bottom"};
}

/// The gate of each channel goes to all of its pixels by a Deconvolution, whose one window is the image.
void mend_gate_product(DeployNet& net, int layer) {
  const Shape image = net.shapes(layer).bottoms[0];
  caffe::LayerParameter& param = net.param(layer);
  param.clear_scale_param();
  param.set_type("Eltwise");
  param.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  net.at(layer).arrays.clear();
  net.change();
  const int at = net.put_before(layer, 1, reshape_layer({0, image[1], 1, 1}), "_gate");
  caffe::LayerParameter spread;
  spread.set_type("Deconvolution");
  caffe::ConvolutionParameter* p = spread.mutable_convolution_param();
  p->set_num_output(static_cast<uint32_t>(image[1]));
  p->set_group(static_cast<uint32_t>(image[1]));
  p->set_bias_term(false);
  p->set_kernel_h(static_cast<uint32_t>(image[2]));
  p->set_kernel_w(static_cast<uint32_t>(image[3]));
  BlobData ones{.shape = {image[1], 1, image[2], image[3]}, .legacy_dims = false, .data = {}};
  ones.data.assign(static_cast<size_t>(image.count(1)), 1.0f);
  net.put_before(at, 1, spread, "_pixels", {std::move(ones)});
}

std::optional<Finding> check_no_power(const DeployNet& net, int layer) {
  const caffe::LayerParameter& param = net.param(layer);
  // Other rules refuse the type.
  if (param.type() != "Power" || param.power_param().power() != 1 || !has_channels(net, layer)) return std::nullopt;
  return Finding{"a Power is not understood", "type"};
}

/// shift + scale x, each number as often as there are channels.
void mend_no_power(DeployNet& net, int layer) {
  const int64_t channels = net.shapes(layer).bottoms[0][1];
  const auto for_each = [=](float number) {
    return BlobData{.shape = {channels}, .data = std::vector<float>(static_cast<size_t>(channels), number)};
  };
  caffe::LayerParameter& param = net.param(layer);
  const caffe::PowerParameter power = param.power_param();
  param.clear_power_param();
  param.set_type("Scale");
  net.at(layer).arrays = {for_each(power.scale())};
  if (power.shift() != 0) {
    param.mutable_scale_param()->set_bias_term(true);
    net.at(layer).arrays.push_back(for_each(power.shift()));
  }
  net.change();
}

}  // namespace robusta::deploy
