/// InfogainLoss: cross-entropy in which a label counts for more than one class, L = -sum_k H[label][k] log p_k, p being
/// the softmax of the scores. Shared by its kernels.
///
/// As in BVLC Caffe and Intel's fork; NVIDIA's has no softmax inside, as Caffe had none before: its nets get a Softmax
/// layer before this one there, which is to be left out here.
///
/// Bottoms: scores; labels; optionally the matrix H, which has no gradient, else a file holds it. Tops: the loss;
/// optionally the probabilities.
#pragma once

#include <vector>

#include "layers/kit/softmax_loss.h"

namespace robusta {

/// Probabilities are taken to be at least that, as in BVLC Caffe.
inline constexpr double kLeastProbability = 1e-20;

class InfogainLossLayer : public SoftmaxLossLayer {
 public:
  explicit InfogainLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 3, 1, 2}; }
  /// Reads the file the first time.
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;

  /// H of the file, row by row; without elements where it is a bottom.
  const std::vector<float>& matrix() const { return matrix_; }

 private:
  std::vector<float> matrix_;
};

}  // namespace robusta
