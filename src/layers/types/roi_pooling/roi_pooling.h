/// ROIPooling: the features of each region of interest, as a grid of pooled_h x pooled_w bins whose largest values come
/// out (Girshick 2015, "Fast R-CNN", section 2.1). Shared by its kernels.
///
/// As in rbgirshick/caffe-fast-rcnn (roi_pooling_layer.cpp, .cu): corners are rounded to pixels of the features, a
/// region is at least one pixel wide and high, and bins overlap where their edges lie within a pixel. A bin outside of
/// the features gives 0. With pad_ratio, as in zhaoweicai/mscnn, a region first grows on each side by that part of its
/// size.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"
#include "layers/kit/regions.h"

namespace robusta {

/// How coordinates of the image become bins.
struct RoiScale {
  /// pixels of the features in one of the image; share of its sides that a region is widened by
  float scale, pad_ratio;
};

/// One axis of a region.
class RoiAxis {
 public:
  /// From pixel `from` to pixel `to` of the image.
  ROBUSTA_HOST_DEVICE RoiAxis(float from, float to, const RoiScale& s, int64_t bins) : bins_(bins) {
    if (s.pad_ratio > 0) {  // fmaf, since some compilers would make one of it, and others not
      const float size = to - from + 1;
      from = ::fmaf(-size, s.pad_ratio, from);
      to = ::fmaf(size, s.pad_ratio, to);
    }
    first_ = static_cast<int64_t>(::roundf(near_enough(from * s.scale)));
    const auto last = static_cast<int64_t>(::roundf(near_enough(to * s.scale)));
    size_ = last < first_ ? 1 : last - first_ + 1;
    bin_ = static_cast<float>(size_) / static_cast<float>(bins);
  }
  /// The pixels of bin i, which may lie outside of the features.
  ROBUSTA_HOST_DEVICE BinSpan bin(int64_t i) const {
    return {first_ + static_cast<int64_t>(::floorf(static_cast<float>(i) * bin_)),
            first_ + static_cast<int64_t>(::ceilf(static_cast<float>(i + 1) * bin_))};
  }
  /// The bins that may hold this pixel, and few others.
  ROBUSTA_HOST_DEVICE BinSpan bins_of(int64_t pixel) const {
    const int64_t place = pixel - first_;
    if (place < 0 || place > size_) return {};
    const auto begin = static_cast<int64_t>(::floorf(static_cast<float>(place) / bin_)) - 1;
    const auto end = static_cast<int64_t>(::ceilf(static_cast<float>(place + 1) / bin_)) + 1;
    return within({begin, end}, bins_);
  }

 private:
  int64_t bins_, first_, size_;
  float bin_;
};

/// The bins of a region along its axes.
struct RoiBins {
  int64_t height = 0, width = 0;
};

class RoiPoolingLayer : public Layer, public WantsRegions {
 public:
  explicit RoiPoolingLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom == 0; }

  int64_t pooled_h() const { return pooled_.height; }
  int64_t pooled_w() const { return pooled_.width; }
  int64_t bins() const { return pooled_h() * pooled_w(); }
  RoiScale scale() const {
    return {param().roi_pooling_param().spatial_scale(), param().roi_pooling_param().pad_ratio()};
  }
  /// After infer_tops.
  const RegionExtents& extents() const { return extents_; }

 private:
  RoiBins pooled_;
  RegionExtents extents_;
};

/// What every kernel books: backward looks at the regions, and at where in its plane the largest pixel of each bin is,
/// -1 for none.
inline void book_roi_pooling(const KernelRequest& request, Booking& booking) {
  booking.reads_bottoms = {false, true};
  booking.repeatable = true;
  if (request.backward) booking.saved_bytes = static_cast<size_t>(request.tops[0].shape.count()) * sizeof(int32_t);
}

}  // namespace robusta
