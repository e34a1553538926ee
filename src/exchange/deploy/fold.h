/// BatchNorm and Scale layers folded into the convolution or inner product before them.
#pragma once

#include "exchange/deploy/deploy_net.h"

namespace robusta::deploy {

/// y = scale * x + shift for each channel of what a layer puts out.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

/// Folds where a layer feeds nothing else, chain by chain; the rest stays. Returns how many layers are gone.
/// REQUIRES: normalise_batch_norms().
int fold_batch_norms(DeployNet& net);

/// For element `index` of the weights of a layer that has `shape`: the channel of its output, or of its input.
int64_t output_channel(const caffe::LayerParameter& layer, const BlobData& weights, int64_t index);
int64_t input_channel(const caffe::LayerParameter& layer, const BlobData& weights, int64_t index);

/// Adds an array of zeros for the bias where the layer has none.
void give_bias(DeployLayer& layer);

/// "Convolution", "Deconvolution" and "InnerProduct", with channels along axis 1.
bool is_linear(const DeployNet& net, int layer);

}  // namespace robusta::deploy
