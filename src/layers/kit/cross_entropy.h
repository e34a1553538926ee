/// SoftmaxWithLoss and what its relatives share with it: L = -sum w(label) log p(label) / divisor and dx = w(label) (p
/// - target) / divisor, p being the softmax of the scores.
///
/// The weights of classes are 1 but with loss_param.weight_by_label_freqs, as in
/// src/caffe/layers/softmax_loss_layer.cpp of alexgkendall/caffe-segnet: then they are those of class_weighting. The
/// divisor does not know of them.
#pragma once

#include "layers/kit/softmax_loss.h"

namespace robusta {

class CrossEntropyLayer : public SoftmaxLossLayer {
 public:
  /// Throws Error{kConfig} for a label_smoothing outside 0..1, and for weights that are none.
  explicit CrossEntropyLayer(const caffe::LayerParameter& param);
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// One for each class; empty: all are 1.
  const std::vector<float>& class_weights() const { return class_weights_; }

 private:
  std::vector<float> class_weights_;
};

/// Targets smoothed by e as in Intel's fork: with C the number of scores of an item, all positions of it together, the
/// target is 1 - e for the true class and e / C for the others. It shapes the gradient alone.
template <typename T>
struct SmoothTarget {
  T own, other;  ///< of the true class, and of each other one
  T mass;        ///< their sum over C scores
  /// `scores`: of an item.
  SmoothTarget(const caffe::LayerParameter& layer, int64_t scores)
      : own(1 - static_cast<T>(layer.loss_param().label_smoothing())),
        other(static_cast<T>(layer.loss_param().label_smoothing()) / static_cast<T>(scores)),
        mass(own + static_cast<T>(scores - 1) * other) {}
};

/// Registers the kernels of the CPU for a type whose layer is a CrossEntropyLayer.
bool register_cross_entropy(const std::string& type);

}  // namespace robusta
