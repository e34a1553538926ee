/// LabelSpecificHardMargin: moves the score of the label to those of the others. Shared by its kernels.
///
///   y_l = w x_l + (1 - w) mean of x_c over the other classes, w being positive_weight
///
/// As in happynear/caffe-windows before 2018 (label_specific_hard_margin.cu), in the TRAIN phase alone; else y is x.
/// The second top is the mean of |y_l - x_l| in degrees, where scores are angles; in the TEST phase it is 0.
#pragma once

#include "layers/kit/label_specific.h"

namespace robusta {

class LabelSpecificHardMarginLayer : public LabelSpecificLayer {
 public:
  explicit LabelSpecificHardMarginLayer(const caffe::LayerParameter& param);
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  float weight() const { return param().label_specific_hard_margin_param().positive_weight(); }
};

/// Of `samples`, each of `classes` scores.
template <typename T>
struct HardMargin {
  int64_t samples, classes;
  T weight;

  /// The changed score of a label, of its own and the sum of all.
  ROBUSTA_HOST_DEVICE T value(T own, T sum) const {
    return weight * own + (1 - weight) * (sum - own) / static_cast<T>(classes - 1);
  }
  /// The gradient of a score, of what comes back for it and for that of the label.
  ROBUSTA_HOST_DEVICE T gradient(bool own, T dy, T of_label) const {
    return own ? weight * dy : dy + (1 - weight) * of_label / static_cast<T>(classes - 1);
  }
  /// Of a mean difference.
  ROBUSTA_HOST_DEVICE static T degrees(T radians) { return radians * T{180 / 3.14159265358979323846}; }
};

}  // namespace robusta
