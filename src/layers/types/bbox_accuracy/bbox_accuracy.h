/// BboxAccuracy: how near boxes of regions come to what the regions were matched with (zhaoweicai/mscnn,
/// src/caffe/layers/bbox_accuracy_layer.cpp). Shared by its kernels.
///
/// Bottoms: codes [n, 4 * classes]; regions [n, 5], an item and two corners in pixels that belong to the box; matches
/// [n, 6] as ProposalTarget makes them: the class, two corners, and the overlap. Tops, a number each: the mean overlap
/// of the matches with the boxes that the codes make of the regions; that with the regions themselves. Only regions
/// with a class above 0 count, and none that is its match already, with an overlap above 0.975. A mean of nothing is
/// -1. With bbox_reg_param.cls_aware false there is one code for all classes, behind that of the background.
#pragma once

#include <cmath>

#include "layers/kit/box_statistics.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "ops/boxes.h"

namespace robusta {

/// What is summed over regions.
struct RegionOverlaps {
  double moved = 0, given = 0;  ///< overlaps with the truth: of regions as codes move them, and as they were
  int64_t regions = 0;

  ROBUSTA_HOST_DEVICE static RegionOverlaps join(const RegionOverlaps& a, const RegionOverlaps& b) {
    return {a.moved + b.moved, a.given + b.given, a.regions + b.regions};
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE T mean(double sum) const {
    return static_cast<T>(regions > 0 ? sum / static_cast<double>(regions) : -1);
  }
};

struct RegionComparison {
  int64_t regions, codes, region_width, match_width;  ///< rows, and numbers in a row of each bottom
  bool by_class;
  BoxStatistics statistics;

  /// Above 0: it counts.
  template <typename T>
  ROBUSTA_HOST_DEVICE int label(const T* matches, int64_t region) const {
    return to_label(matches[region * match_width]);
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE bool has_code(const T* matches, int64_t region) const {
    return !by_class || label(matches, region) < codes / 4;
  }

  /// REQUIRES: has_code().
  template <typename T>
  ROBUSTA_HOST_DEVICE RegionOverlaps overlaps(const T* code_rows, const T* region_rows, const T* matches,
                                              int64_t region) const {
    constexpr double kThere = 0.975;
    const int own = label(matches, region);
    const T* match = matches + region * match_width;
    if (own <= 0 || static_cast<double>(match[match_width - 1]) > kThere) return {};
    const T *code = code_rows + region * codes + 4 * (by_class ? own : 1), *row = region_rows + region * region_width;
    const Box<T> wanted = with_last_pixel(match + 1), given = with_last_pixel(row + 1);
    const T wide = given.width(), high = given.height();
    const T x = statistics.undo(0, code[0]) * wide + given.xmin + wide / 2;
    const T y = statistics.undo(1, code[1]) * high + given.ymin + high / 2;
    const T half_wide = wide * std::exp(statistics.undo(2, code[2])) / 2;
    const T half_high = high * std::exp(statistics.undo(3, code[3])) / 2;
    const Box<T> moved{x - half_wide, y - half_high, x + half_wide, y + half_high};
    return {static_cast<double>(overlap(moved, wanted)), static_cast<double>(overlap(given, wanted)), 1};
  }

 private:
  template <typename T>
  ROBUSTA_HOST_DEVICE static Box<T> with_last_pixel(const T* corners) {
    return {corners[0], corners[1], corners[2] + 1, corners[3] + 1};
  }
};

class BboxAccuracyLayer : public Layer {
 public:
  explicit BboxAccuracyLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {3, 3, 1, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  /// After infer_tops.
  const RegionComparison& comparison() const { return comparison_; }

 private:
  RegionComparison comparison_{};
};

/// Throws the Error{kData} of a class without a code.
[[noreturn]] void throw_class_without_code(const RegionComparison& comparison, int64_t region, double label);

}  // namespace robusta
