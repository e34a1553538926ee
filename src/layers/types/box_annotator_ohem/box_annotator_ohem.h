/// BoxAnnotatorOHEM: of the regions of each image, those whose loss is largest stay examples; of the others the label
/// becomes ignore_label, and the weights of the box regression 0 (Shrivastava, Gupta, Girshick 2016, "Training
/// region-based object detectors with online hard example mining", section 4; Dai, Li, He, Sun 2016, "R-FCN", section
/// 2.2). Shared by its kernels.
///
/// As in daijifeng001/caffe-rfcn (box_annotator_ohem_layer.cpp). Bottoms: regions [R, 5, ...], of which the item of the
/// batch is looked at; the loss, the label, and the weights [R, channels, ...] of each. Tops: labels [R, 1, ...], and
/// weights. Nothing has a gradient. Of equal losses the first counts as larger; a loss that is no number counts as
/// larger than any, so that a run that fails shows it.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"
#include "layers/kit/regions.h"

namespace robusta {

/// A position is a region, or one of `spatial` places that each has.
struct ExampleExtents {
  int64_t regions = 1, spatial = 1, channels = 1;  ///< channels: of the weights
  int64_t positions() const { return regions * spatial; }
  /// Where bottom 0 holds the item of a position, and weights the `channel` of one.
  ROBUSTA_HOST_DEVICE int64_t item_at(int64_t position) const {
    return position / spatial * kRegionNumbers * spatial + position % spatial;
  }
  ROBUSTA_HOST_DEVICE int64_t weight_at(int64_t position, int64_t channel) const {
    return (position / spatial * channels + channel) * spatial + position % spatial;
  }
};

/// Items count from 0, and nothing says how many there are.
inline constexpr int64_t kMostItems = INT32_MAX;

/// True if the example at i, of loss a, is the harder one.
template <typename T>
ROBUSTA_HOST_DEVICE bool is_harder(T a, int64_t i, T b, int64_t j) {
  const bool a_is_none = a != a, b_is_none = b != b;
  if (a_is_none != b_is_none) return a_is_none;
  if (!a_is_none && a != b) return a > b;
  return i < j;
}

class BoxAnnotatorOhemLayer : public Layer {
 public:
  explicit BoxAnnotatorOhemLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {4, 4, 2, 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }

  int64_t per_image() const { return param().box_annotator_ohem_param().roi_per_img(); }
  int32_t ignore_label() const { return param().box_annotator_ohem_param().ignore_label(); }
  /// After infer_tops.
  const ExampleExtents& extents() const { return extents_; }

 private:
  ExampleExtents extents_;
};

}  // namespace robusta
