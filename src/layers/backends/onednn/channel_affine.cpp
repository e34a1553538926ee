// The factors and shifts of a constant BatchNorm, renewed when a parameter has changed.

#include "layers/backends/onednn/channel_affine.h"

#include <cmath>

namespace robusta::onednn {

ChannelAffine::ChannelAffine(const ChannelNorm& norm, const ChannelScale* scale)
    : scaled_(scale || norm.has_scale()),
      shifted_(norm.has_scale() || (scale && scale->has_bias())),
      eps_(norm.eps()),
      factor_(static_cast<size_t>(norm.channels())),
      shift_(static_cast<size_t>(norm.channels())) {}

bool ChannelAffine::refresh(std::span<Param* const> params) {
  bool moved = versions_.size() != params.size();
  versions_.resize(params.size());
  sources_.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    moved |= versions_[i] != params[i]->version || sources_[i] != params[i]->data;
    versions_[i] = params[i]->version;
    sources_[i] = params[i]->data;
  }
  if (!moved) return false;

  const float *mean = params[0]->tensor().as<float>(), *variance = params[1]->tensor().as<float>();
  const float batches = *params[2]->tensor().as<float>();
  const double norm = batches == 0 ? 0 : 1.0 / batches;
  const float* scale = scaled_ ? params[3]->tensor().as<float>() : nullptr;
  const float* bias = shifted_ ? params[4]->tensor().as<float>() : nullptr;
  for (size_t c = 0; c < factor_.size(); ++c) {
    const double factor = (scale ? scale[c] : 1.0) * eps_.inverse(variance[c] * norm);
    factor_[c] = static_cast<float>(factor);
    shift_[c] = static_cast<float>((bias ? bias[c] : 0.0) - mean[c] * norm * factor);
  }
  return true;
}

}  // namespace robusta::onednn
