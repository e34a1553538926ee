// Folds the factors and shifts of a constant BatchNorm into a convolution's weights and bias.

#include "layers/types/convolution/folded_convolution.h"

namespace robusta {

FoldedWeights::FoldedWeights(const FusedConvolution& chain, bool passing)
    : affine_(*chain.norm, chain.scale.get()),
      has_bias_(chain.convolution->has_bias()),
      outputs_(chain.convolution->geometry().num_output),
      taps_(chain.convolution->geometry().weight_shape().count(1)),
      bias_(static_cast<size_t>(outputs_) * sizeof(float)) {
  if (!passing) weights_ = onednn::AlignedMemory(scratch_bytes());
}

void FoldedWeights::refresh(std::span<Param* const> params, void* scratch) {
  const size_t own = has_bias_ ? 2 : 1;
  const bool moved = affine_.refresh(params.subspan(own));
  const uint64_t weights = params[0]->version, bias = has_bias_ ? params[1]->version : 0;
  float* to = weights_ ? weights_.floats() : static_cast<float*>(scratch);
  const bool same_place = to == to_ && params[0]->data == source_;
  if (!moved && same_place && weights == weights_version_ && bias == bias_version_) return;
  to_ = to;
  source_ = params[0]->data;
  weights_version_ = weights;
  bias_version_ = bias;
  ++version_;
  const float* w = params[0]->tensor().as<float>();
  const float* b = has_bias_ ? params[1]->tensor().as<float>() : nullptr;
  for (int64_t o = 0; o < outputs_; ++o) {
    const float factor = affine_.factor()[static_cast<size_t>(o)];
    for (int64_t t = 0; t < taps_; ++t) to[o * taps_ + t] = w[o * taps_ + t] * factor;
    bias_.floats()[o] = (b ? b[o] * factor : 0.0f) + affine_.shift()[static_cast<size_t>(o)];
  }
}

}  // namespace robusta
