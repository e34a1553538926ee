/// Layers that normalise channels, axis 1, by mean and variance: what BatchNorm and BN have in common.
///
/// y = (x - mean) / sqrt(variance + eps) (* scale + shift), with the moments of the batch or with stored ones.
#pragma once

#include <span>

#include "layers/kit/kernel.h"
#include "layers/kit/norm_eps.h"
#include "layers/kit/step_reduce.h"

namespace robusta {

/// What is done. Parameters are given by their places, -1: there is none.
///
/// A training pass makes each stored statistic fraction * itself + share * the batch's, the variance with m elements
/// per channel multiplied by m / (m - 1) if `unbiased`; and `batches` fraction * itself + 1. Where that is there, the
/// statistics are sums to be divided by it; 0 gives mean 0 and variance 0.
struct ChannelNormPlan {
  int64_t batch = 1, channels = 1, plane = 1;  ///< plane: elements of one channel of one sample
  NormEps eps = {};
  double fraction = 1, share = 1;
  bool unbiased = false;
  bool stored = false;  ///< by the stored moments, which stay as they are; mean 0 and variance 1 where there are none
  bool sync = false;    ///< the batch is that of all ranks
  int mean = -1, variance = -1, batches = -1, scale = -1, shift = -1;

  /// Whether the scale is a parameter that learns.
  bool learns_scale(const KernelRequest& request) const {
    return scale >= 0 && request.backward && request.param_grads[static_cast<size_t>(scale)];
  }
  /// What a training pass multiplies the batch's variance with, of m elements per channel.
  double correction(double m) const { return unbiased && m > 1 ? m / (m - 1) : 1; }
};

/// Tells everybody that the statistics have changed.
void renew_statistics(const ChannelNormPlan& plan, const KernelRun& run);

/// Moments of the channels of one rank's batch, first all means, then all variances, become those of all ranks' batches
/// (of one size). No ranks: unchanged.
void share_moments(StepReduce* ranks, std::span<double> moments);

/// The reference kernel.
std::unique_ptr<Kernel> make_channel_norm_reference(const KernelRequest& request, const ChannelNormPlan& plan);

}  // namespace robusta
