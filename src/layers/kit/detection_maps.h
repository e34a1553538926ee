/// Maps of detections, and what they should be, as MS-CNN trains on them (Cai et al. 2016, "A unified multi-scale deep
/// convolutional neural network for fast object detection", section 3; zhaoweicai/mscnn,
/// src/caffe/layers/detection_loss_layer.cpp and detection_accuracy_layer.cpp).
///
/// Bottom 0, predictions [items, classes + 4, height, width]: for each cell the scores of the classes, 0 being the
/// background, and the code of a box around a field of field_w x field_h pixels. Bottom 1, the truth [items, 6, height,
/// width]: the class of each cell, the middle and the size of its box in pixels, and how much of its field is common
/// with a box. A cell of class 0 is background where that is below bg_threshold, and nothing elsewhere; one of
/// loss_param.ignore_label is nothing, too. With `objectness` every class above 0 is 1. A place is a cell of an item.
#pragma once

#include <cmath>
#include <optional>

#include "base/half.h"
#include "layers/kit/box_statistics.h"
#include "layers/kit/labels.h"
#include "layers/kit/layer.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

struct DetectionMaps {
  int64_t items = 1, classes = 2, height = 1, width = 1;
  float field_w = 1, field_h = 1, rate = 1;  ///< pixels of the field; pixels from cell to cell
  float least_shift = 0, most_shift = 0, least_log = 0, most_log = 0;  ///< what the numbers of a code are cut to
  float background_below = 0;
  bool objectness = false, ignores = false;
  int ignored = 0;
  BoxStatistics statistics;

  static constexpr int64_t kTruthNumbers = 6, kOverlap = 5;  ///< class, middle x and y, width, height, overlap
  static constexpr int kIgnored = -1, kBad = -2;

  ROBUSTA_HOST_DEVICE int64_t cells() const { return height * width; }
  ROBUSTA_HOST_DEVICE int64_t places() const { return items * cells(); }
  /// Where number `k` of a place lies in bottom 0: scores first, the code behind them.
  ROBUSTA_HOST_DEVICE int64_t in_predictions(int64_t place, int64_t k) const {
    return (place / cells() * (classes + 4) + k) * cells() + place % cells();
  }
  /// The same in bottom 1.
  ROBUSTA_HOST_DEVICE int64_t in_truth(int64_t place, int64_t k) const {
    return (place / cells() * kTruthNumbers + k) * cells() + place % cells();
  }
  ROBUSTA_HOST_DEVICE float middle_x(int64_t place) const { return (static_cast<float>(place % width) + 0.5f) * rate; }
  ROBUSTA_HOST_DEVICE float middle_y(int64_t place) const {
    return (static_cast<float>(place / width % height) + 0.5f) * rate;
  }

  /// 0 .. classes-1, or kIgnored, or kBad.
  template <typename T>
  ROBUSTA_HOST_DEVICE int label(const T* truth, int64_t place) const {
    const int label = to_label(truth[in_truth(place, 0)]);
    if (ignores && label == ignored) return kIgnored;
    if (label < 0 || (!objectness && label >= classes)) return kBad;
    return objectness && label > 1 ? 1 : label;
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE bool is_background(const T* truth, int64_t place) const {
    return label(truth, place) == 0 && truth[in_truth(place, kOverlap)] < static_cast<T>(background_below);
  }
  /// Which number of bottom 1 cannot be at this place, counted over the whole bottom; -1: none.
  template <typename T>
  ROBUSTA_HOST_DEVICE int64_t fault(const T* truth, int64_t place) const {
    const int own = label(truth, place);
    if (own == kIgnored) return -1;
    if (own == kBad) return in_truth(place, 0);
    const auto is_finite = [](T number) { return number - number == 0; };
    for (int64_t k = 1; k < kOverlap && own > 0; ++k) {
      const T number = truth[in_truth(place, k)];
      const bool is_size = k > 2;
      if (!is_finite(number) || (is_size && number < 0)) return in_truth(place, k);
    }
    const T common = truth[in_truth(place, kOverlap)];
    return common >= 0 && is_finite(common) ? -1 : in_truth(place, kOverlap);
  }
};

/// Throws the Error{kData} of number `at` of bottom 1.
[[noreturn]] void throw_bad_truth(const DetectionMaps& maps, int64_t at, double number, const Pass& pass);

/// What the layers on such maps have alike. They read the fields of these names from a message of their own.
class DetectionMapsLayer : public Layer, public TellsShapes {
 public:
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>&) const override {
    return 3 * static_cast<double>(bottoms[0].count());
  }

  /// After take_bottoms.
  const DetectionMaps& maps() const { return maps_; }

 protected:
  /// `message`: "detection_loss_param" or "detection_accuracy_param". Throws Error{kConfig} in the field that cannot
  /// be.
  template <typename Param>
  DetectionMapsLayer(const caffe::LayerParameter& layer, const Param& param, const std::string& message);
  /// Throws Error{kConfig} unless the bottoms are such maps.
  void take_bottoms(const std::vector<Shape>& bottoms);

 private:
  DetectionMaps maps_;
};

template <typename Param>
DetectionMapsLayer::DetectionMapsLayer(const caffe::LayerParameter& layer, const Param& param,
                                       const std::string& message)
    : Layer(layer) {
  const auto path = [&](const char* field) { return str(message, ".", field); };
  const auto whole = [&](const char* field, uint32_t value, uint32_t least, const char* fix) {
    if (value >= least) return static_cast<float>(value);
    throw wrong_setting(path(field), str(field, " is ", value), fix);
  };
  maps_.classes = param.cls_num();
  whole("cls_num", param.cls_num(), 2, "give the number of classes, the background among them");
  if (param.coord_num() != 4)
    throw wrong_setting(path("coord_num"), str("coord_num is ", param.coord_num()), "boxes have 4: leave it out");
  maps_.field_w = whole("field_w", param.field_w(), 1, "give the width of the field in pixels");
  maps_.field_h = whole("field_h", param.field_h(), 1, "give the height of the field in pixels");
  maps_.rate = whole("downsample_rate", param.downsample_rate(), 1, "give the pixels from cell to cell");
  const float stretch = require_finite(param.field_whr(), path("field_whr"));
  if (stretch < 1) throw wrong_setting(path("field_whr"), str("field_whr is ", stretch), "give 1 or more");
  const float shift = require_finite(param.field_xyr(), path("field_xyr"));
  if (shift <= 0) throw wrong_setting(path("field_xyr"), str("field_xyr is ", shift), "give a number above 0");
  maps_.least_shift = -1 / shift;
  maps_.most_shift = 1 / shift;
  maps_.least_log = std::log(1 / stretch);
  maps_.most_log = std::log(stretch);
  maps_.background_below = require_finite(param.bg_threshold(), path("bg_threshold"));
  maps_.objectness = param.objectness();
  if (maps_.objectness && maps_.classes != 2)
    throw wrong_setting(path("cls_num"), str("cls_num is ", maps_.classes, " with objectness"), "give 2");
  maps_.ignores = layer.loss_param().has_ignore_label();
  maps_.ignored = layer.loss_param().ignore_label();
  maps_.statistics = read_box_statistics(layer.bbox_reg_param());
}

}  // namespace robusta
