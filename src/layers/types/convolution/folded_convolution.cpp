// Folds the factors and shifts of a constant BatchNorm into a convolution's weights and bias.

#include "layers/types/convolution/folded_convolution.h"

namespace robusta {

FoldedWeights::FoldedWeights(const FusedConvolution& chain)
    : affine_(*chain.norm, chain.scale.get()),
      has_bias_(chain.convolution->has_bias()),
      outputs_(chain.convolution->geometry().num_output),
      taps_(chain.convolution->geometry().weight_shape().count(1)),
      weights_(static_cast<size_t>(outputs_ * taps_) * sizeof(float)),
      bias_(static_cast<size_t>(outputs_) * sizeof(float)) {}

void FoldedWeights::refresh(std::span<Param* const> params) {
  const size_t own = has_bias_ ? 2 : 1;
  const bool moved = affine_.refresh(params.subspan(own));
  const uint64_t weights = params[0]->version, bias = has_bias_ ? params[1]->version : 0;
  if (!moved && weights == weights_version_ && bias == bias_version_) return;
  weights_version_ = weights;
  bias_version_ = bias;
  ++version_;
  const float* w = params[0]->tensor().as<float>();
  const float* b = has_bias_ ? params[1]->tensor().as<float>() : nullptr;
  for (int64_t o = 0; o < outputs_; ++o) {
    const float factor = affine_.factor()[static_cast<size_t>(o)];
    for (int64_t t = 0; t < taps_; ++t) weights_.floats()[o * taps_ + t] = w[o * taps_ + t] * factor;
    bias_.floats()[o] = (b ? b[o] * factor : 0.0f) + affine_.shift()[static_cast<size_t>(o)];
  }
}

}  // namespace robusta
