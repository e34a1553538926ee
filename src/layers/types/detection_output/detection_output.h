/// DetectionOutput: what a detector has found (Liu et al. 2016, "SSD: Single Shot MultiBox Detector", section 2.2 and
/// 3.1). Shared by its kernels.
///
/// As in weiliu89/caffe, branch ssd (detection_output_layer.cpp). Bottoms: for each item and prior box, the code of a
/// box (of one for each class, unless share_location); for each item and prior box the scores of all classes; the prior
/// boxes and their variances as PriorBox makes them; any others are not looked at. Of each item and class but the
/// background, the boxes with scores above confidence_threshold, the top_k best of them, those that survive
/// non-maximum suppression; of these, over all classes, the keep_top_k best of each item. The top is [1, 1, N, 7] with
/// rows [item, class, score, xmin, ymin, xmax, ymax], by item, then class, then score; N follows from the values. Where
/// nothing is found in a batch there is a row [item, -1, ..., -1] for each item.
///
/// What is found is decided on the host before the layer runs (kit/sized_by_bottoms.h), in single precision; kernels
/// decode the boxes of that.
#pragma once

#include <limits>
#include <optional>

#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"
#include "ops/boxes.h"

namespace robusta {

/// A row of the top: which prior box and which class. Class -1: a row for an item where nothing was found.
struct Detection {
  int64_t item, prior;  ///< of the batch; index of the prior box
  int32_t label;        ///< the class, which may have boxes of its own
  float score;
};

/// How the bottoms lie, and how boxes are encoded.
struct DetectionCoding {
  int64_t items = 0, priors = 0, classes = 0;
  bool shared = true;        ///< one box for all classes
  bool has_variance = true;  ///< false: it is part of the codes
  BoxCode code = BoxCode::kCorner;

  ROBUSTA_HOST_DEVICE int64_t score_at(int64_t item, int64_t prior, int64_t label) const {
    return (item * priors + prior) * classes + label;
  }
  /// The box of a class, from the codes and the priors, each as a bottom has them.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> box(const T* codes, const T* prior_boxes, int64_t item, int64_t prior,
                                 int64_t label) const {
    const int64_t place = shared ? item * priors + prior : (item * priors + prior) * classes + label;
    const Box<T> variance = has_variance ? Box<T>::at(prior_boxes + (priors + prior) * 4) : Box<T>{1, 1, 1, 1};
    return decode_box(code, Box<T>::at(prior_boxes + prior * 4), variance, Box<T>::at(codes + place * 4));
  }

  /// Row `detection` of the top.
  template <typename T>
  ROBUSTA_HOST_DEVICE void write(const Detection& detection, const T* codes, const T* scores, const T* prior_boxes,
                                 T* row) const {
    const Detection& d = detection;
    row[0] = static_cast<T>(d.item);
    for (int k = 1; k < 7; ++k) row[k] = -1;
    if (d.label < 0) return;
    const Box<T> found = box(codes, prior_boxes, d.item, d.prior, d.label);
    row[1] = static_cast<T>(d.label);
    row[2] = scores[score_at(d.item, d.prior, d.label)];
    row[3] = found.xmin, row[4] = found.ymin, row[5] = found.xmax, row[6] = found.ymax;
  }
};

class DetectionOutputLayer : public Layer, public SizedByBottoms {
 public:
  explicit DetectionOutputLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {3, 4, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return 2; }
  std::vector<int> sizing_bottoms() const override { return {0, 1, 2}; }
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  /// After infer_tops.
  const DetectionCoding& coding() const { return coding_; }
  /// What the last size_by_bottoms has found, a row each. Before: one row of nothing.
  const std::vector<Detection>& found() const { return found_; }

 private:
  void check_priors(const std::vector<float>& prior_boxes) const;
  std::vector<Detection> find_in_class(std::span<const std::vector<float>> values, int64_t item, int32_t label) const;
  /// The best of an item's, unless all may stay.
  void limit(std::vector<Detection>& of_item) const;

  DetectionCoding coding_;
  std::vector<Detection> found_;
};

/// What every kernel books: there is no backward.
inline void book_detection_output(const KernelRequest& request, Booking& booking) {
  booking.reads_bottoms.assign(request.bottoms.size(), false);
}

}  // namespace robusta
