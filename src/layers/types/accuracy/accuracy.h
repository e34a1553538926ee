/// Accuracy: the share of positions whose true class is among the top_k scores. Shared by its kernels.
///
/// Bottoms: scores; labels, one for each position outside the class axis. Tops: the share, a scalar; optionally the
/// shares of each class.
///
/// A position whose label is ignore_label is counted nowhere. Labels are cut to integers. As in BVLC Caffe a class
/// without positions has a share of 0, and a score equal to that of the true class beats it.
#pragma once

#include <optional>

#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class AccuracyLayer : public Layer, public TellsShapes {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    return bottom == 1 ? wanted_labels(bottoms[0], param().accuracy_param().axis(), bottoms[1]) : std::nullopt;
  }
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }
  std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const override {
    return LabelUse{0, 1, bottoms[0][axis_], ignored()};
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return static_cast<double>(bottoms[0].count());
  }

  int axis() const { return axis_; }  ///< the class axis, counted from the front; after infer_tops
  int64_t top_k() const { return param().accuracy_param().top_k(); }
  std::optional<int> ignored() const {
    if (!param().accuracy_param().has_ignore_label()) return std::nullopt;
    return param().accuracy_param().ignore_label();
  }

 private:
  int axis_ = 1;
};

}  // namespace robusta
