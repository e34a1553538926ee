/// CTCGreedyDecoder: what a sequence of scores says: the best class of each step, equal neighbours once unless
/// ctc_merge_repeated is false, without blanks (Graves et al. 2006, "Connectionist Temporal Classification", section
/// 3.2). Shared by its kernels.
///
/// As in ChWick/caffe, branch ctc (ctc_decoder_layer.cpp). Bottoms: scores [T, N, classes]; indicators [T, N], 0 where
/// a step after the first begins another sequence, which ends this one; optionally targets [T, N], ended by a negative
/// number. Tops: the labels [N, T, 1, 1], filled up with -1; then, with two bottoms the scores [N, 1, 1, 1], each the
/// negative sum of the best ones; with three bottoms the accuracy, or the scores and the accuracy: 1 - the mean of the
/// edit distances (Levenshtein) by the longer of both sequences. The blank is blank_index, the last class where that is
/// negative.
#pragma once

#include "base/half.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"

namespace robusta {

template <typename X, typename L>
struct CtcDecoding {
  int64_t steps, samples, classes, blank;
  bool merges;  ///< equal neighbours are one label
  const X* scores;
  const L *indicators, *targets;

  /// Writes the labels of a sample, -1 behind them. Returns the score.
  template <typename Y>
  ROBUSTA_HOST_DEVICE double decode(int64_t sample, Y* labels) const {
    int64_t count = 0, before = -1;
    double score = 0;
    for (int64_t step = 0; step < steps; ++step) {
      if (step > 0 && indicators[step * samples + sample] == 0) break;
      const X* const row = scores + (step * samples + sample) * classes;
      int64_t best = 0;
      for (int64_t c = 1; c < classes; ++c) {
        if (static_cast<float>(row[c]) > static_cast<float>(row[best])) best = c;
      }
      score -= static_cast<double>(static_cast<float>(row[best]));
      if (best != blank && !(merges && best == before)) labels[count++] = static_cast<Y>(best);
      before = best;
    }
    for (int64_t i = count; i < steps; ++i) labels[i] = -1;
    return score;
  }

  /// The edit distance to the target by the longer of both. `row`: steps + 1 numbers to work with.
  template <typename Y>
  ROBUSTA_HOST_DEVICE double fault(int64_t sample, const Y* labels, int32_t* row) const {
    int64_t count = 0, wanted = 0;
    while (count < steps && labels[count] >= 0) ++count;
    while (wanted < steps && targets[wanted * samples + sample] >= 0) ++wanted;
    if (count == 0 && wanted == 0) return 0;
    for (int64_t j = 0; j <= count; ++j) row[j] = static_cast<int32_t>(j);
    for (int64_t i = 1; i <= wanted; ++i) {
      const auto target = to_label(static_cast<double>(targets[(i - 1) * samples + sample]) + 0.5);
      int32_t diagonal = row[0];
      row[0] = static_cast<int32_t>(i);
      for (int64_t j = 1; j <= count; ++j) {
        const int32_t kept = diagonal + (to_label(labels[j - 1]) != target);
        diagonal = row[j];
        const int32_t changed = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
        row[j] = kept < changed ? kept : changed;
      }
    }
    return static_cast<double>(row[count]) / static_cast<double>(count > wanted ? count : wanted);
  }
};

class CtcGreedyDecoderLayer : public Layer {
 public:
  explicit CtcGreedyDecoderLayer(const caffe::LayerParameter& param) : Layer(param) {}
  Arity arity() const override { return {2, 3, 1, 3}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  /// Which top holds it; -1: none.
  int score_top() const { return has_score() ? 1 : -1; }
  int accuracy_top() const { return has_accuracy() ? param().top_size() - 1 : -1; }

  /// After infer_tops.
  template <typename X, typename L>
  CtcDecoding<X, L> decoding(const X* scores, const L* indicators, const L* targets) const {
    return {shape_[0], shape_[1],  shape_.count(2), blank_, param().ctc_decoder_param().ctc_merge_repeated(),
            scores,    indicators, targets};
  }
  int64_t steps() const { return shape_[0]; }
  int64_t samples() const { return shape_[1]; }

 private:
  bool has_score() const { return param().top_size() == (param().bottom_size() > 2 ? 3 : 2); }
  bool has_accuracy() const { return param().bottom_size() > 2 && param().top_size() > 1; }

  Shape shape_;
  int64_t blank_ = 0;
};

}  // namespace robusta
