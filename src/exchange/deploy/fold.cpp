// s (W x + b) + t = (s W) x + (s b + t), channel by channel of the output.

#include "exchange/deploy/fold.h"

#include <cmath>
#include <numeric>

#include "base/log.h"
#include "base/str.h"

namespace robusta::deploy {
namespace {

int64_t product(const std::vector<int64_t>& dims, size_t from) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(std::min(from, dims.size())), dims.end(),
                         int64_t{1}, std::multiplies<>());
}

bool is_inner_product(const caffe::LayerParameter& layer) { return layer.type() == "InnerProduct"; }

int64_t groups(const caffe::LayerParameter& layer) { return layer.convolution_param().group(); }

int64_t outputs(const caffe::LayerParameter& layer) {
  return is_inner_product(layer) ? layer.inner_product_param().num_output() : layer.convolution_param().num_output();
}

std::optional<ChannelAffine> affine_of(const DeployNet& net, int i) {
  const DeployLayer& layer = net.layers[static_cast<size_t>(i)];
  ChannelAffine affine;
  if (layer.param.type() == "BatchNorm" && layer.arrays.size() == 3) {
    const double eps = layer.param.batch_norm_param().eps();
    for (size_t c = 0; c < layer.arrays[0].data.size(); ++c) {
      const double s = 1 / std::sqrt(static_cast<double>(layer.arrays[1].data[c]) + eps);
      affine.scale.push_back(s);
      affine.shift.push_back(-s * layer.arrays[0].data[c]);
    }
    return affine;
  }
  const caffe::ScaleParameter& p = layer.param.scale_param();
  if (layer.param.type() != "Scale" || layer.param.bottom_size() != 1 || layer.arrays.empty()) return std::nullopt;
  if (p.axis() != 1 || p.num_axes() != 1) return std::nullopt;
  affine.scale.assign(layer.arrays[0].data.begin(), layer.arrays[0].data.end());
  affine.shift.resize(affine.scale.size());
  if (layer.arrays.size() > 1) affine.shift.assign(layer.arrays[1].data.begin(), layer.arrays[1].data.end());
  return affine;
}

void apply(const ChannelAffine& affine, DeployLayer& layer) {
  give_bias(layer);
  BlobData& weights = layer.arrays[0];
  for (size_t k = 0; k < weights.data.size(); ++k) {
    const int64_t channel = output_channel(layer.param, weights, static_cast<int64_t>(k));
    weights.data[k] = static_cast<float>(weights.data[k] * affine.scale[static_cast<size_t>(channel)]);
  }
  std::vector<float>& bias = layer.arrays[1].data;
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = static_cast<float>(affine.scale[c] * bias[c] + affine.shift[c]);
}

}  // namespace

bool is_linear(const DeployNet& net, int i) {
  const caffe::LayerParameter& layer = net.param(i);
  if (layer.bottom_size() != 1 || layer.top_size() != 1 || net.layers[static_cast<size_t>(i)].arrays.empty()) {
    return false;
  }
  if (is_inner_product(layer)) return layer.inner_product_param().axis() == 1;
  return (layer.type() == "Convolution" || layer.type() == "Deconvolution") && layer.convolution_param().axis() == 1;
}

void give_bias(DeployLayer& layer) {
  if (layer.arrays.size() > 1) return;
  const int64_t count = outputs(layer.param);
  layer.arrays.push_back(
      {.shape = {count}, .legacy_dims = false, .data = std::vector<float>(static_cast<size_t>(count))});
  if (is_inner_product(layer.param)) {
    layer.param.mutable_inner_product_param()->clear_bias_term();
  } else {
    layer.param.mutable_convolution_param()->clear_bias_term();
  }
}

int64_t output_channel(const caffe::LayerParameter& layer, const BlobData& weights, int64_t index) {
  const std::vector<int64_t>& shape = weights.shape;
  if (is_inner_product(layer) && layer.inner_product_param().transpose()) return index % outputs(layer);
  if (layer.type() != "Deconvolution") return index / product(shape, 1);
  // Its weights are those of the convolution that it transposes: input channels first, then those of a group's outputs.
  const int64_t group = index / product(shape, 1) / (shape[0] / groups(layer));
  return group * shape[1] + index / product(shape, 2) % shape[1];
}

int64_t input_channel(const caffe::LayerParameter& layer, const BlobData& weights, int64_t index) {
  const std::vector<int64_t>& shape = weights.shape;
  if (layer.type() == "Deconvolution") return index / product(shape, 1);
  const int64_t group = index / product(shape, 1) / (shape[0] / groups(layer));
  return group * shape[1] + index / product(shape, 2) % shape[1];
}

int fold_batch_norms(DeployNet& net) {
  int folded = 0;
  for (int i = 1; i < net.size();) {
    const std::optional<ChannelAffine> affine = affine_of(net, i);
    const int before = affine ? net.producer(net.param(i).bottom(0)) : -1;
    if (before < 0 || !is_linear(net, before) || !net.feeds_only(before, i) ||
        outputs(net.param(before)) != static_cast<int64_t>(affine->scale.size())) {
      if (affine) LOG_INFO << net.param(i).type() << ' ' << net.param(i).name() << " stays: no layer takes it in";
      ++i;
      continue;
    }
    apply(*affine, net.at(before));
    LOG_INFO << net.param(i).type() << ' ' << net.param(i).name() << " is folded into " << net.param(before).name();
    const std::string top = net.param(i).top(0);
    net.param(before).set_top(0, top);
    net.remove(i);
    ++folded;
  }
  return folded;
}

}  // namespace robusta::deploy
