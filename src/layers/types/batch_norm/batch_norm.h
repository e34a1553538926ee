/// BatchNorm (Ioffe and Szegedy 2015): what its kernels share.
///
/// y = (x - mean) / sqrt(variance + eps) for each channel (axis 1; a tensor with one axis has one channel).
///
/// Statistics, as Caffe keeps them: blob 0 the decayed sum of batch means, blob 1 the decayed sum of unbiased batch
/// variances, blob 2 the decayed number of batches. Each training pass multiplies all three by the fraction f and adds
/// (mean, variance * m / (m - 1), 1) with m = elements per channel. Inference divides by blob 2, or takes 0 and 0 when
/// that is 0. Normalisation in training uses the biased variance of the batch.
///
/// With `sync`, the batch is that of all ranks: mean and variance in forward, and the two sums over the batch in
/// backward, are those of N times as many elements. Without, each rank keeps its own.
#pragma once

#include "layers/kit/channel_norm.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/roles.h"

namespace robusta {

/// Parameters: the three statistics, then scale [C] and shift [C] if has_scale() (NVIDIA's and Intel's form of a
/// BatchNorm with the Scale layer inside).
class BatchNormLayer : public Layer, public ChannelNorm {
 public:
  explicit BatchNormLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  /// True: normalise by the stored statistics and leave them alone.
  bool uses_global_stats() const override;
  bool has_scale() const override;
  /// True: the batch's statistics are those of all ranks.
  bool synchronised() const { return param().batch_norm_param().sync() && !uses_global_stats(); }
  NormEps eps() const override {
    const auto& p = param().batch_norm_param();
    return {p.eps(), !p.add_eps_before_sqrt()};
  }
  float fraction() const { return param().batch_norm_param().moving_average_fraction(); }

  int64_t batch() const { return batch_; }
  int64_t channels() const override { return channels_; }
  int64_t plane() const { return plane_; }  ///< elements of one channel of one sample

  /// What its kernels do, alone.
  ChannelNormPlan plan() const;

 private:
  int64_t batch_ = 0, channels_ = 0, plane_ = 0;
  FixedShape statistics_;
  caffe::FillerParameter scale_filler_;
};

}  // namespace robusta
