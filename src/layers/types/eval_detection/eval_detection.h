/// EvalDetection: which of the boxes that a YOLO net predicts are right (Redmon and Farhadi 2017, "YOLO9000: Better,
/// faster, stronger"). Shared by its kernels.
///
/// As in Intel's fork (eval_detection_layer.cpp). Bottoms: for each item and pixel of a map of side x side pixels,
/// num_object times the numbers x, y, width, height, whether there is an object, and num_class scores [N, num_object
/// (5 + num_class), side, side]; the ground truth (kit/true_boxes.h), whose class 0 is the background; any others are
/// not looked at. The top is [N, num_class + 4 side^2 num_object]: how many boxes of the ground truth each class has,
/// then for each predicted box its class, counted from 0, its score, and whether it is right or wrong; zeros behind
/// them. With nms, boxes that overlap a better one by that much go, whatever their classes, and scores below 0.005.
#pragma once

#include <span>
#include <vector>

#include "layers/kit/booking.h"
#include "layers/kit/kernel.h"
#include "layers/kit/true_boxes.h"

namespace robusta {

class EvalDetectionLayer : public Layer {
 public:
  explicit EvalDetectionLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 3, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  /// The numbers of the top. Throws Error{kData} for ground truth that cannot be. After infer_tops.
  void judge(std::span<const float> predictions, std::span<const float> truth, std::span<float> top) const;

 private:
  struct Predicted {
    int32_t label;
    float score;
    Box<float> box;
  };
  const caffe::EvalDetectionParameter& fields() const { return param().eval_detection_param(); }
  /// The numbers of one box, and of the top of one item.
  int64_t numbers() const { return 5 + int64_t{fields().num_class()}; }
  int64_t boxes() const { return int64_t{fields().side()} * fields().side() * fields().num_object(); }
  int64_t top_numbers() const { return fields().num_class() + 4 * boxes(); }
  Predicted predicted(const float* item, int64_t pixel, int64_t object) const;
  std::vector<Predicted> predictions_of(const float* item) const;
  void judge_item(const float* item, std::span<const TrueBox> truths, float* top) const;

  int64_t items_ = 0;
};

}  // namespace robusta
