/// SoftmaxWithLoss and what its relatives share with it: L = -sum log p(label) / divisor and dx = (p - target) /
/// divisor, p being the softmax of the scores.
#pragma once

#include "layers/kit/softmax_loss.h"

namespace robusta {

class CrossEntropyLayer : public SoftmaxLossLayer {
 public:
  /// Throws Error{kConfig} for a label_smoothing outside 0..1.
  explicit CrossEntropyLayer(const caffe::LayerParameter& param);
};

/// Targets smoothed by e as in Intel's fork: with C the number of scores of an item, all positions of it together, the
/// target is 1 - e for the true class and e / C for the others. It shapes the gradient alone.
template <typename T>
struct SmoothTarget {
  T own, other;
  T mass;  ///< their sum over C scores
  /// `scores`: of an item.
  SmoothTarget(const caffe::LayerParameter& layer, int64_t scores)
      : own(1 - static_cast<T>(layer.loss_param().label_smoothing())),
        other(static_cast<T>(layer.loss_param().label_smoothing()) / static_cast<T>(scores)),
        mass(own + static_cast<T>(scores - 1) * other) {}
};

/// Registers the kernels of the CPU for a type whose layer is a CrossEntropyLayer.
bool register_cross_entropy(const std::string& type);

}  // namespace robusta
