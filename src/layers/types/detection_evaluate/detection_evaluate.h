/// DetectionEvaluate: which of the boxes that a detector has found are right (Everingham et al. 2010, "The PASCAL
/// visual object classes (VOC) challenge", section 4.2). Shared by its kernels.
///
/// As in weiliu89/caffe, branch ssd (detection_evaluate_layer.cpp). Bottoms: rows as DetectionOutput makes them [item,
/// class, score, xmin, ymin, xmax, ymax], those of class -1 saying that nothing was found; the ground truth
/// (kit/true_boxes.h). The top is [1, 1, N, 5]: for each class but the background a row [-1, class, number of boxes of
/// the ground truth, -1, -1], then for each box that was found [item, class, score, right, wrong]. The best one that
/// overlaps a box of the ground truth by overlap_threshold is right, further ones are wrong, as is all else; one that
/// overlaps a difficult box counts as neither, unless evaluate_difficult_gt. With name_size_file boxes are compared in
/// pixels of the original images, which are the samples of the test in the order of that file.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "layers/kit/booking.h"
#include "layers/kit/kernel.h"
#include "layers/kit/reads_files.h"
#include "layers/kit/true_boxes.h"
#include "layers/types/detection_evaluate/original_images.h"

namespace robusta {

inline constexpr int64_t kFoundNumbers = 7, kJudgedNumbers = 5;  ///< item, class, score, corners; or right, wrong

/// A row of the top.
using Judged = std::array<float, kJudgedNumbers>;

class DetectionEvaluateLayer : public Layer, public ReadsFiles {
 public:
  explicit DetectionEvaluateLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  void read_files(bool may_be_absent) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return 0; }
  void size_by(std::span<const float> found) override;

  /// The rows of the top. `first_sample`: the position of item 0 among the samples of the test. Throws Error{kData}
  /// for rows of bottoms that cannot be.
  std::vector<Judged> judge(std::span<const float> found, std::span<const float> truth, uint64_t first_sample) const;

 private:
  struct Found {
    int32_t item, label;
    float score;
    Box<float> box;
  };
  const caffe::DetectionEvaluateParameter& fields() const { return param().detection_evaluate_param(); }
  std::vector<Found> read_found(std::span<const float> numbers) const;
  void add_classes(std::span<const TrueBox> truths, std::vector<Judged>& rows) const;
  void judge_class(std::span<Found> found, std::span<const TrueBox> truths, uint64_t sample,
                   std::vector<Judged>& rows) const;
  Box<float> compared(const Box<float>& box, uint64_t sample) const;

  OriginalImages images_;
  bool reads_file_ = true;  ///< it has not been read yet
  int64_t found_ = 1;       ///< as long as nothing is known
};

}  // namespace robusta
