// Layers as deploy writes them, with no more fields than they need.

#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {

caffe::LayerParameter reshape_layer(const std::vector<int64_t>& dims) {
  caffe::LayerParameter layer;
  layer.set_type("Reshape");
  for (const int64_t dim : dims) layer.mutable_reshape_param()->mutable_shape()->add_dim(dim);
  return layer;
}

caffe::LayerParameter power_layer(float scale, float shift) {
  caffe::LayerParameter layer;
  layer.set_type("Power");
  layer.mutable_power_param()->set_scale(scale);
  if (shift != 0) layer.mutable_power_param()->set_shift(shift);
  return layer;
}

}  // namespace robusta::deploy
