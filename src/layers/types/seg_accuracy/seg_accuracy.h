/// SegAccuracy: how well maps of scores find the labels of pixels (src/caffe/layers/seg_accuracy_layer.cpp of
/// TheLegendAli/DeepLab-Context and hszhao/PSPNet). Shared by its kernels.
///
/// Bottoms: scores [items, classes, ...]; labels, one for each position outside of the classes. The top [1, 1, 1, 3]:
/// the share of positions whose largest score is that of their label; the mean of these shares over the classes that
/// have positions; the mean over all classes of intersection by union, of the positions of a class and those that are
/// taken for it, which is 1 where there are neither. Positions with a label of ignore_label do not count. Of equal
/// scores the last is taken for the largest; one that is no number never is.
#pragma once

#include <optional>
#include <vector>

#include "base/half.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/layer.h"

namespace robusta {

/// Positions of one class: found, there, and taken for it.
struct SegCounts {
  int64_t found = 0, there = 0, taken = 0;
};

/// Sums over the classes.
struct SegSums {
  double found = 0, there = 0, recall = 0, present = 0, overlap = 0;

  ROBUSTA_HOST_DEVICE static SegSums of(const SegCounts& counts) {
    const auto found = static_cast<double>(counts.found), there = static_cast<double>(counts.there);
    const double either = there + static_cast<double>(counts.taken) - found;
    const bool present = counts.there > 0;
    return {found, there, present ? found / there : 0, present ? 1.0 : 0.0, found == either ? 1 : found / either};
  }
  ROBUSTA_HOST_DEVICE static SegSums join(const SegSums& a, const SegSums& b) {
    return {a.found + b.found, a.there + b.there, a.recall + b.recall, a.present + b.present, a.overlap + b.overlap};
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE void write(int64_t classes, T* top) const {
    top[0] = static_cast<T>(there > 0 ? found / there : 0);
    top[1] = static_cast<T>(present > 0 ? recall / present : 0);
    top[2] = static_cast<T>(overlap / static_cast<double>(classes));
  }
};

class SegAccuracyLayer : public Layer {
 public:
  explicit SegAccuracyLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return static_cast<double>(bottoms[0].count());
  }

  static AxisView view(const Shape& scores) { return AxisView(scores, 1); }
  /// The labels that do not count.
  std::vector<int> ignored() const;
};

}  // namespace robusta
