/// PSROIPooling: position-sensitive pooling of regions (Dai, Li, He, Sun 2016, "R-FCN", section 2.2). Shared by its
/// kernels.
///
/// A region is cut into group_size x group_size bins; in bin (i, j), channel c of the top is the mean of channel
/// (c * group_size + i) * group_size + j of the features, each channel being trained for one place in a region.
///
/// As in daijifeng001/caffe-rfcn (psroi_pooling_layer.cu): corners are rounded to pixels of the image and scaled
/// without rounding, a region is at least 0.1 pixels wide and high, and a bin takes every pixel it touches. A bin
/// outside of the features gives 0.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"
#include "layers/kit/regions.h"

namespace robusta {

/// One axis of a region.
class PsRoiAxis {
 public:
  /// From pixel `from` to pixel `to` of the image.
  ROBUSTA_HOST_DEVICE PsRoiAxis(float from, float to, float scale, int64_t bins) {
    first_ = near_enough(::roundf(from) * scale);
    const float size = near_enough((::roundf(to) + 1) * scale) - first_;
    bin_ = (size > 0.1f ? size : 0.1f) / static_cast<float>(bins);
  }
  /// The pixels of bin i, which may lie outside of the features. By fmaf, as nvcc compiles the original.
  ROBUSTA_HOST_DEVICE BinSpan bin(int64_t i) const {
    return {static_cast<int64_t>(::floorf(::fmaf(static_cast<float>(i), bin_, first_))),
            static_cast<int64_t>(::ceilf(::fmaf(static_cast<float>(i + 1), bin_, first_)))};
  }

 private:
  float first_, bin_;
};

class PsRoiPoolingLayer : public Layer, public WantsRegions {
 public:
  explicit PsRoiPoolingLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom == 0; }

  float scale() const { return param().psroi_pooling_param().spatial_scale(); }
  /// Bins along each axis.
  int64_t group() const { return param().psroi_pooling_param().group_size(); }
  int64_t outputs() const { return param().psroi_pooling_param().output_dim(); }
  /// After infer_tops.
  const RegionExtents& extents() const { return extents_; }

 private:
  RegionExtents extents_;
};

/// The pixels of one bin of a region.
struct PsRoiBin {
  BinSpan rows, columns;
  ROBUSTA_HOST_DEVICE PsRoiBin(const Region& region, float scale, int64_t group, int64_t i, int64_t j, int64_t height,
                               int64_t width)
      : rows(within(PsRoiAxis(region.y1, region.y2, scale, group).bin(i), height)),
        columns(within(PsRoiAxis(region.x1, region.x2, scale, group).bin(j), width)) {}
  ROBUSTA_HOST_DEVICE int64_t area() const { return rows.length() * columns.length(); }
};

/// What every kernel books: backward looks at the regions alone.
inline void book_ps_roi_pooling(Booking& booking) {
  booking.reads_bottoms = {false, true};
  booking.repeatable = true;
}

}  // namespace robusta
