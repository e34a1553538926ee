/// TripletLoss: pulls an anchor to a positive example, and pushes it from a negative one until that is farther by a
/// margin (Schroff, Kalenichenko, Philbin 2015, "FaceNet: A Unified Embedding for Face Recognition and Clustering").
/// Shared by its kernels.
///
///   L = sum over triplets of max(0, margin + |a - p|^2 - |a - n|^2) / (2 N)
///
/// As in happynear/caffe-windows (triplet_loss_layer.cpp). Bottoms: a, p and n. All have a gradient.
#pragma once

#include "base/half.h"
#include "layers/kit/layer.h"
#include "layers/kit/loss_normalizer.h"

namespace robusta {

class TripletLossLayer : public Layer {
 public:
  explicit TripletLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {3, 3, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 6 * static_cast<double>(bottoms[0].count());
  }

  float margin() const { return param().triplet_loss_param().margin(); }
  /// N, of the batches of all ranks by their number.
  double divisor(int64_t triplets, StepReduce* ranks) const {
    return normalizer_.divisor(triplets, triplets, triplets, ranks);
  }

 private:
  LossNormalizer normalizer_{{}, caffe::LossParameter::BATCH_SIZE};
};

/// The elements of the gradients of a, p and n for a triplet with a loss, without what all are multiplied by.
template <typename T>
ROBUSTA_HOST_DEVICE T triplet_slope(int bottom, T a, T p, T n) {
  return bottom == 0 ? n - p : bottom == 1 ? p - a : a - n;
}

}  // namespace robusta
