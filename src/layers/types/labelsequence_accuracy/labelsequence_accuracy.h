/// LabelsequenceAccuracy: the share of sequences that are read without fault. Shared by its kernels.
///
/// As in yalecyu/crnn.caffe (labelsequence_accuracy_layer.cpp). Bottoms: scores [N, T, classes]; labels [N, ...], those
/// of them that are blank_label being left out. What is read is the best class of each step, equal neighbours once,
/// without blanks (Graves et al. 2006, "Connectionist Temporal Classification", section 3.2).
#pragma once

#include "base/half.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"

namespace robusta {

struct LabelSequences {
  int64_t samples = 1, steps = 1, classes = 1, width = 1;
  int32_t blank = 0;  ///< left out of sequences

  int64_t rows() const { return samples * steps; }

  /// Of a row of scores; of equal ones the first.
  template <typename X>
  ROBUSTA_HOST_DEVICE int32_t best_class(const X* scores, int64_t row) const {
    int64_t best = 0;
    float most = static_cast<float>(scores[row * classes]);
    for (int64_t c = 1; c < classes; ++c) {
      const auto score = static_cast<float>(scores[row * classes + c]);
      if (score > most) best = c, most = score;
    }
    return static_cast<int32_t>(best);
  }

  /// `best`: the best class of each row.
  template <typename L>
  ROBUSTA_HOST_DEVICE bool is_right(int64_t sample, const int32_t* best, const L* labels) const {
    const L* const own = labels + sample * width;
    int64_t next = after_blanks(own, 0);
    int32_t before = blank;
    for (int64_t step = 0; step < steps; ++step) {
      const int32_t read = best[sample * steps + step];
      if (read != before && read != blank) {
        if (next == width || to_label(own[next]) != read) return false;
        next = after_blanks(own, next + 1);
      }
      before = read;
    }
    return next == width;
  }

 private:
  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t after_blanks(const L* own, int64_t from) const {
    while (from < width && to_label(own[from]) == blank) ++from;
    return from;
  }
};

class LabelsequenceAccuracyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }
  std::optional<LabelUse> label_use(const std::vector<Shape>&) const override {
    return LabelUse{0, 1, sequences_.classes, sequences_.blank};
  }

  /// After infer_tops.
  const LabelSequences& sequences() const { return sequences_; }

 private:
  LabelSequences sequences_;
};

}  // namespace robusta
