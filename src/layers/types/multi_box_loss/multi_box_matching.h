/// What MultiBoxLoss decides before it computes: which boxes belong to which of the ground truth, and which scores are
/// examples (Liu et al. 2016, "SSD: Single Shot MultiBox Detector", section 2.2: matching, hard negative mining).
///
/// As in weiliu89/caffe, branch ssd (bbox_util.cpp: FindMatches, MineHardExamples), and on the host, in single
/// precision, whatever computes the loss: another rounding would choose other boxes. Of equal overlaps or losses the
/// first counts. A loss that is no number counts as larger than any, so that a run that fails shows it.
#pragma once

#include <span>
#include <vector>

#include "caffe.pb.h"
#include "layers/kit/true_boxes.h"
#include "ops/boxes.h"

namespace robusta {

/// How the bottoms lie.
struct MultiBoxExtents {
  int64_t items = 0, priors = 0, classes = 0;
  int64_t rows = 0;    ///< of the ground truth
  bool shared = true;  ///< one box for all classes

  ROBUSTA_HOST_DEVICE int64_t box_classes() const { return shared ? 1 : classes; }
  /// A place is a prior box of an item; it has scores, and one box or one of each class.
  ROBUSTA_HOST_DEVICE int64_t places() const { return items * priors; }
  ROBUSTA_HOST_DEVICE int64_t boxes() const { return places() * box_classes(); }
};

/// In place of a row of the ground truth: none; none as the box reaches over the image; none, but near to one.
inline constexpr int32_t kNoRow = -1, kOutside = -2, kNear = -3;
/// In place of the class that a score should have: none; the place is no example.
inline constexpr int32_t kNoClass = -1, kNoExample = -2;

struct MultiBoxDecisions {
  int32_t* rows;    ///< of each box: its row of the ground truth
  int32_t* labels;  ///< of each place: the class that its scores should have
};

class MultiBoxMatching {
 public:
  /// REQUIRES: a message that MultiBoxLossLayer has checked, and that outlives this.
  MultiBoxMatching(const caffe::MultiBoxLossParameter& param, const MultiBoxExtents& extents);

  /// Whether examples are chosen by their losses: match, then losses, then mine. Else match has decided all.
  bool mines() const { return param_.mining_type() != caffe::MultiBoxLossParameter::NONE; }
  bool mines_by_location() const { return param_.mining_type() == caffe::MultiBoxLossParameter::HARD_EXAMPLE; }
  /// Whether `codes` below are looked at, or may be null.
  bool reads_codes() const { return !param_.use_prior_for_matching() || (mines() && suppresses() && !by_priors()); }

  /// Takes the ground truth and the prior boxes with their variances. Throws Error{kData} for what cannot be.
  void read(std::span<const float> truth, const float* prior_boxes);
  /// The row of each box, and the class of each place as if all places that may be were examples.
  void match(const float* codes, const MultiBoxDecisions& decisions) const;
  /// Leaves of these the ones that the losses, one for each place, ask for.
  void mine(const float* codes, const float* losses, const MultiBoxDecisions& decisions) const;
  /// How many boxes have a row.
  int64_t matches(const MultiBoxDecisions& decisions) const;

 private:
  bool suppresses() const { return param_.has_nms_param() && param_.nms_param().nms_threshold() > 0; }
  bool by_priors() const { return param_.use_prior_for_nms(); }
  std::span<const TrueBox> truths_of(int64_t item) const;
  void check_priors() const;
  std::vector<Box<float>> boxes_of(const float* codes, int64_t item, int64_t box_class) const;
  std::vector<int32_t> rows_of(std::span<const Box<float>> boxes, std::span<const TrueBox> truths) const;
  void match_item(const float* codes, int64_t item, const MultiBoxDecisions& decisions) const;
  void match_by_priors(int64_t item, int32_t* rows) const;
  void match_by_codes(const float* codes, int64_t item, int32_t* rows) const;
  void mine_item(const float* codes, const float* losses, int64_t item, const MultiBoxDecisions& decisions) const;
  std::vector<int64_t> hardest(const float* codes, const float* losses, int64_t item, const int32_t* rows) const;

  const caffe::MultiBoxLossParameter& param_;
  const MultiBoxExtents e_;
  const BoxCode code_;
  const int32_t negative_;  ///< the class of places without a box
  std::vector<Box<float>> priors_, variances_;
  std::vector<TrueBox> truths_;    ///< by item, then row
  std::vector<size_t> begins_;     ///< of the truths of each item, and their end
  std::vector<int32_t> label_of_;  ///< of each row
};

/// CENTER_SIZE and so on.
BoxCode box_code(caffe::PriorBoxParameter::CodeType type);

}  // namespace robusta
