/// MultiBoxLoss: how far boxes and scores of a detector are from the ground truth (Liu et al. 2016, "SSD: Single Shot
/// MultiBox Detector", section 2.2, equations 1 to 3). Shared by its kernels.
///
///   L = (loc_weight sum over matched boxes and coordinates of f(d) + sum over examples of the loss of their scores) /
///   N
///
/// As in weiliu89/caffe, branch ssd (multibox_loss_layer.cpp). Bottoms: for each item and prior box, the code of a box
/// (of one for each class, unless share_location), and the scores of all classes; the prior boxes and their variances
/// as PriorBox makes them; the ground truth (kit/true_boxes.h). d is the difference of a code and that of the box of
/// the ground truth; f the smooth L1 distance or d^2 / 2; the loss of scores softmax or sigmoid cross entropy. N is the
/// number of matched boxes, unless `normalization` says otherwise. Which boxes are matched and which scores are
/// examples is decided by multi_box_matching.h, as if it were given: the gradient is that of L then.
#pragma once

#include <cfloat>

#include "layers/kit/kernel.h"
#include "layers/kit/loss_normalizer.h"
#include "layers/kit/smooth_l1.h"
#include "layers/types/multi_box_loss/multi_box_matching.h"

namespace robusta {

/// The terms of one box. Its `numbers` are four places, one for each coordinate.
struct MultiBoxLocations {
  MultiBoxExtents e;
  BoxCode code;       ///< how boxes are written relative to their prior boxes
  bool divides;       ///< codes have no variances in them: differences are divided by these
  bool inside_alone;  ///< a coordinate outside of the image has no part
  bool by_priors;     ///< whose coordinate: the prior box's, or that of the box itself
  bool smooth;

  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T distance(typename Math::T d) const {
    return smooth ? SmoothL1<Math>().value(d) : d * d / 2;
  }
  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T slope(typename Math::T d) const {
    return smooth ? SmoothL1<Math>().slope(d) : d;
  }

  /// What the differences of the codes are multiplied by. They change with a code by steps alone (whether its box is
  /// inside), so that they have no derivative of their own.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> factors(const T* codes, const T* prior_boxes, int64_t box) const {
    const int64_t prior = prior_of(box);
    const Box<T> of_prior = Box<T>::at(prior_boxes + prior * 4), variance = variances(prior_boxes, prior);
    const Box<T> place =
        by_priors ? of_prior : decode_box(code, of_prior, coded(variance), Box<T>::at(codes + box * 4));
    const auto factor = [this](T at, T of_code) {
      return inside_alone && (at < 0 || at > 1) ? T{0} : divides ? 1 / of_code : T{1};
    };
    return {factor(place.xmin, variance.xmin), factor(place.ymin, variance.ymin), factor(place.xmax, variance.xmax),
            factor(place.ymax, variance.ymax)};
  }

  /// d of each coordinate, for the row of the ground truth that the box belongs to.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> differences(const T* codes, const T* prior_boxes, const T* truth, int64_t box, int64_t row,
                                         const Box<T>& factor) const {
    const int64_t prior = prior_of(box);
    const Box<T> n = Box<T>::at(codes + box * 4);
    // Either way the difference is in units of the variance: of the code itself, or by the factor.
    const Box<T> wanted = encode_box(code, Box<T>::at(prior_boxes + prior * 4), coded(variances(prior_boxes, prior)),
                                     Box<T>::at(truth + row * kTrueBoxNumbers + 3));
    // A code without a part may be anything, infinite too.
    const auto times = [](T difference, T by) { return by == 0 ? T{0} : difference * by; };
    return {times(n.xmin - wanted.xmin, factor.xmin), times(n.ymin - wanted.ymin, factor.ymin),
            times(n.xmax - wanted.xmax, factor.xmax), times(n.ymax - wanted.ymax, factor.ymax)};
  }

  /// The sum of f(d) over the coordinates.
  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T value(const typename Math::T* codes, const typename Math::T* prior_boxes,
                                             const typename Math::T* truth, int64_t box, int64_t row) const {
    const auto factor = factors(codes, prior_boxes, box);
    const auto d = differences(codes, prior_boxes, truth, box, row, factor);
    return distance<Math>(d.xmin) + distance<Math>(d.ymin) + distance<Math>(d.xmax) + distance<Math>(d.ymax);
  }

  /// Its derivatives by the four numbers of the code, times `scale`. Zeros where row < 0. By the chain rule: d is
  /// factor x (code - wanted), so its derivative by the code is the factor.
  template <typename Math>
  ROBUSTA_HOST_DEVICE void write_slopes(const typename Math::T* codes, const typename Math::T* prior_boxes,
                                        const typename Math::T* truth, int64_t box, int64_t row, typename Math::T scale,
                                        typename Math::T* numbers) const {
    if (row < 0) {
      for (int k = 0; k < 4; ++k) numbers[k] = 0;
      return;
    }
    const auto factor = factors(codes, prior_boxes, box);
    const auto d = differences(codes, prior_boxes, truth, box, row, factor);
    numbers[0] = scale * factor.xmin * slope<Math>(d.xmin);
    numbers[1] = scale * factor.ymin * slope<Math>(d.ymin);
    numbers[2] = scale * factor.xmax * slope<Math>(d.xmax);
    numbers[3] = scale * factor.ymax * slope<Math>(d.ymax);
  }

 private:
  ROBUSTA_HOST_DEVICE int64_t prior_of(int64_t box) const { return box / e.box_classes() % e.priors; }
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> variances(const T* prior_boxes, int64_t prior) const {
    return Box<T>::at(prior_boxes + (e.priors + prior) * 4);
  }
  /// What codes are divided by already.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> coded(const Box<T>& variance) const {
    return divides ? Box<T>{1, 1, 1, 1} : variance;
  }
};

/// The terms of the scores of one place. `rows`: of its boxes.
struct MultiBoxScores {
  MultiBoxExtents e;
  bool softmax;

  template <typename Math>
  ROBUSTA_HOST_DEVICE typename Math::T value(const typename Math::T* x, int32_t label, const int32_t* rows) const {
    using T = typename Math::T;
    if (label == kNoExample) return 0;
    T sum = 0;
    if (!softmax) {
      // log(1 + e^x) - t x for the target t, written as max(x, 0) + log(1 + e^-|x|) - t x: e is never raised to a large
      // number, which would be infinite above 88 in f32.
      for (int64_t c = 0; c < e.classes; ++c) {
        sum += (x[c] > 0 ? x[c] : T{0}) - (is_own(c, label, rows) ? x[c] : T{0}) +
               Math::log1p(Math::exp(-Math::abs(x[c])));
      }
      return sum;
    }
    // The log of a sum of exponentials is the same when the largest score is taken out of all of them; then each is at
    // most 1.
    const T most = largest(x);
    for (int64_t c = 0; c < e.classes; ++c) sum += Math::exp(x[c] - most);
    const T loss = most + Math::log(sum) - x[label], limit = static_cast<T>(kMostLoss);
    return loss > limit ? limit : loss;
  }

  /// Its derivatives by the scores, times `scale`. Zeros where the place is no example. Of softmax and sigmoid alike
  /// they are probability - target. That the loss ends at kMostLoss has no part in them, as in Caffe: a score that is
  /// far off still learns.
  template <typename Math>
  ROBUSTA_HOST_DEVICE void write_slopes(const typename Math::T* x, int32_t label, const int32_t* rows,
                                        typename Math::T scale, typename Math::T* dx) const {
    using T = typename Math::T;
    const bool is_example = label != kNoExample;
    const T most = softmax && is_example ? largest(x) : T{0};
    T sum = 0;
    for (int64_t c = 0; c < e.classes && softmax && is_example; ++c) sum += Math::exp(x[c] - most);
    for (int64_t c = 0; c < e.classes; ++c) {
      const T probability = !is_example ? T{0} : softmax ? Math::exp(x[c] - most) / sum : Math::sigmoid(x[c]);
      dx[c] = is_example ? scale * (probability - static_cast<T>(is_own(c, label, rows))) : T{0};
    }
  }

 private:
  static constexpr double kMostLoss = 87.33654475055310898657;  ///< -log(FLT_MIN), as Caffe's loss of a softmax ends

  /// A place may have boxes of several classes where each has its own: for sigmoids all of them are true.
  ROBUSTA_HOST_DEVICE bool is_own(int64_t c, int32_t label, const int32_t* rows) const {
    return softmax || e.shared ? c == label : rows[c] >= 0;
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE T largest(const T* x) const {
    T most = x[0];
    for (int64_t c = 1; c < e.classes; ++c) most = x[c] > most ? x[c] : most;
    return most;
  }
};

class MultiBoxLossLayer : public Layer {
 public:
  explicit MultiBoxLossLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {4, 4, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool is_loss() const override { return true; }
  bool allows_gradient(int bottom) const override { return bottom < 2; }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[1].count());
  }

  const caffe::MultiBoxLossParameter& fields() const { return param().multibox_loss_param(); }
  const LossNormalizer& normalizer() const { return normalizer_; }
  /// After infer_tops.
  const MultiBoxExtents& extents() const { return extents_; }
  MultiBoxLocations locations() const;
  MultiBoxScores scores() const;
  /// What the terms of a bottom are multiplied by: 0 where propagate_down leaves it out of the loss, too.
  double weight(int bottom) const;
  double divisor(int64_t matches, const Pass& pass) const {
    return normalizer_.divisor(matches, extents_.places(), extents_.items, pass.ranks);
  }

 private:
  void require_count(const Shape& shape, int bottom, int64_t wanted, const std::string& what) const;

  LossNormalizer normalizer_;
  MultiBoxExtents extents_;
};

}  // namespace robusta
