/// Boxes of detectors: their area, what two have in common, how they are encoded relative to prior boxes, and
/// non-maximum suppression (Liu et al. 2016, "SSD: Single Shot MultiBox Detector"; weiliu89/caffe, branch ssd,
/// bbox_util.cpp).
///
/// Coordinates are parts of the image, so that a box from x to x is empty. A box with a coordinate that is not finite
/// overlaps nothing. Pure functions; those that are templates run on GPUs, too.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/half.h"

namespace robusta {

template <typename T>
struct Box {
  T xmin, ymin, xmax, ymax;  ///< parts of the image or pixels, as the layer says

  ROBUSTA_HOST_DEVICE T width() const { return xmax - xmin; }
  ROBUSTA_HOST_DEVICE T height() const { return ymax - ymin; }
  /// 0 of a box upside down.
  ROBUSTA_HOST_DEVICE T area() const { return xmax < xmin || ymax < ymin ? T{0} : width() * height(); }
  ROBUSTA_HOST_DEVICE bool is_finite() const {
    const T sum = (xmin - xmin) + (ymin - ymin) + (xmax - xmax) + (ymax - ymax);
    return sum == 0;
  }
  /// Four numbers that lie one after the other.
  template <typename From>
  ROBUSTA_HOST_DEVICE static Box at(const From* numbers) {
    return {static_cast<T>(numbers[0]), static_cast<T>(numbers[1]), static_cast<T>(numbers[2]),
            static_cast<T>(numbers[3])};
  }
};

/// The area that both have in common by the area that either has (Jaccard's index), in 0..1.
template <typename T>
ROBUSTA_HOST_DEVICE T overlap(const Box<T>& a, const Box<T>& b) {
  const T width = (a.xmax < b.xmax ? a.xmax : b.xmax) - (a.xmin > b.xmin ? a.xmin : b.xmin);
  const T height = (a.ymax < b.ymax ? a.ymax : b.ymax) - (a.ymin > b.ymin ? a.ymin : b.ymin);
  if (!(width > 0 && height > 0) || !a.is_finite() || !b.is_finite()) return 0;
  const T common = width * height;
  return common / (a.area() + b.area() - common);
}

/// What four numbers say about a box, given a prior box p.
enum class BoxCode {
  kCorner,      ///< corners - those of p
  kCenterSize,  ///< (centre - that of p) / size of p, log(size / size of p): needs a p that is not empty
  kCornerSize,  ///< (corners - those of p) / size of p: the same
};

/// The box. Each number is multiplied by its variance first; variances of 1 where these are part of the numbers.
template <typename T>
ROBUSTA_HOST_DEVICE Box<T> decode_box(BoxCode code, const Box<T>& prior, const Box<T>& variance,
                                      const Box<T>& numbers) {
  const Box<T> n{numbers.xmin * variance.xmin, numbers.ymin * variance.ymin, numbers.xmax * variance.xmax,
                 numbers.ymax * variance.ymax};
  const T w = prior.width(), h = prior.height();
  if (code == BoxCode::kCorner) {
    return {prior.xmin + n.xmin, prior.ymin + n.ymin, prior.xmax + n.xmax, prior.ymax + n.ymax};
  }
  if (code == BoxCode::kCornerSize) {
    return {prior.xmin + n.xmin * w, prior.ymin + n.ymin * h, prior.xmax + n.xmax * w, prior.ymax + n.ymax * h};
  }
  const T x = (prior.xmin + prior.xmax) / 2 + n.xmin * w, y = (prior.ymin + prior.ymax) / 2 + n.ymin * h;
  const T half_width = std::exp(n.xmax) * w / 2, half_height = std::exp(n.ymax) * h / 2;
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

/// The inverse: what decode_box makes `box` of. REQUIRES, of kCenterSize: a box that is not empty.
template <typename T>
ROBUSTA_HOST_DEVICE Box<T> encode_box(BoxCode code, const Box<T>& prior, const Box<T>& variance, const Box<T>& box) {
  const T w = prior.width(), h = prior.height();
  Box<T> n{box.xmin - prior.xmin, box.ymin - prior.ymin, box.xmax - prior.xmax, box.ymax - prior.ymax};
  if (code == BoxCode::kCornerSize) n = {n.xmin / w, n.ymin / h, n.xmax / w, n.ymax / h};
  if (code == BoxCode::kCenterSize) {
    n = {(n.xmin + n.xmax) / 2 / w, (n.ymin + n.ymax) / 2 / h, std::log(box.width() / w), std::log(box.height() / h)};
  }
  return {n.xmin / variance.xmin, n.ymin / variance.ymin, n.xmax / variance.xmax, n.ymax / variance.ymax};
}

/// Something with a score: `index` is the caller's.
struct Scored {
  float score;
  int64_t index;
};

/// Of the scores of 0 .. count-1 those above `least` - never one that is not a number -, best first, of equal ones the
/// first; not more than `most`, where that is not negative. In time count + result x log(result).
template <typename ScoreOf>
std::vector<Scored> best_scores(int64_t count, const ScoreOf& score_of, float least, int64_t most);

/// Non-maximum suppression: which of the boxes stay, the best first, when each that overlaps a better one that stays by
/// more than `threshold` goes. With eta < 1 the threshold is multiplied by it after each that stays, as long as it is
/// above 0.5. `boxes` are in the order of their scores. Time grows with their number, memory with that of those that
/// stay, for thresholds that are not near 0 or 1: at most a second for 100,000.
std::vector<int64_t> suppress_overlaps(std::span<const Box<float>> boxes, float threshold, float eta);

namespace host_detail {

/// Leaves the best, in order.
void keep_best(std::vector<Scored>& scores, int64_t most);

}  // namespace host_detail

template <typename ScoreOf>
std::vector<Scored> best_scores(int64_t count, const ScoreOf& score_of, float least, int64_t most) {
  std::vector<Scored> scores;
  for (int64_t i = 0; i < count; ++i) {
    const float score = score_of(i);
    if (score > least) scores.push_back({score, i});
  }
  host_detail::keep_best(scores, most);
  return scores;
}

}  // namespace robusta
