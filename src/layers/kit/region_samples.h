/// Layers whose top is the features of each region, sampled at a grid of places: ROIAlign and ROIWarping say where, and
/// have all kernels.
///
/// A place lies between four pixels, and has the mixture of them; beyond half a pixel outside of the features it is 0.
/// Places are computed in single precision whatever type the features have, as those of kit/regions.h are.
///
///     ROBUSTA_REGISTER_REGION_SAMPLING("ROIAlign", RoiAlignLayer);    the layer and the reference
///     ROBUSTA_REGISTER_GPU_REGION_SAMPLING(ROIAlign);                 in roi_align_gpu.cpp
#pragma once

#include "layers/kit/kernel.h"
#include "layers/kit/layer.h"
#include "layers/kit/regions.h"

namespace robusta {

/// What a place of one axis is made of: (1 - share) * lower + share * upper. `inside` false: nothing.
struct PlaceSample {
  int64_t lower = 0, upper = 0;  ///< pixels on both sides of the place
  float share = 0;               ///< of the upper one, 0 to 1
  bool inside = false;

  /// The part that `pixel` has.
  ROBUSTA_HOST_DEVICE float part(int64_t pixel) const {
    if (!inside) return 0;
    return (pixel == lower ? 1 - share : 0) + (pixel == upper ? share : 0);
  }
};

/// How the corners of a region become places.
struct RegionGrid {
  float scale = 1;      ///< from the image to the features
  float pad_ratio = 0;  ///< a region grows on each side by this part of its size first
  bool rounds = false;  ///< corners are whole pixels; else pixels have their middle at whole numbers, and a region
                        ///< that is empty has nothing
  int64_t rows = 1, columns = 1;            ///< of places
  int64_t row_steps = 1, column_steps = 1;  ///< that a region is high and wide
};

/// One axis of a region: place i lies at start + i * step.
class PlaceAxis {
 public:
  /// From pixel `from` to pixel `to` of the image, over an axis of `extent` pixels of the features.
  ROBUSTA_HOST_DEVICE PlaceAxis(const RegionGrid& grid, float from, float to, int64_t steps, int64_t extent)
      : extent_(extent) {
    float size = 0;
    if (grid.rounds) {
      start_ = ::roundf(near_enough(from * grid.scale));
      size = ::roundf(near_enough(to * grid.scale)) - start_;
      size = size > 0 ? size : 0;
    } else {
      const float pad = (to - from + 1) * grid.pad_ratio;
      start_ = near_enough((from - pad) * grid.scale - 0.5f);
      size = near_enough((to + pad) * grid.scale - 0.5f) - start_;
      empty_ = !(size > 0);
    }
    step_ = size / static_cast<float>(steps);
  }

  ROBUSTA_HOST_DEVICE PlaceSample sample(int64_t i) const {
    const float place = start_ + static_cast<float>(i) * step_, last = static_cast<float>(extent_ - 1);
    if (empty_ || !(place >= -0.5f && place <= last + 0.5f)) return {};
    const float within = place < 0 ? 0 : place > last ? last : place;
    // Of an axis longer than 2^24 the last place may be rounded upwards.
    const int64_t floor = static_cast<int64_t>(within), lower = floor < extent_ ? floor : extent_ - 1;
    const float share = within - static_cast<float>(lower);
    return {lower, lower + 1 < extent_ ? lower + 1 : lower, share > 0 && share < 1 ? share : 0, true};
  }

  /// The places below `count` that may be made of this pixel, and few others.
  ROBUSTA_HOST_DEVICE BinSpan places_of(int64_t pixel, int64_t count) const {
    if (empty_) return {};
    if (!(step_ > 0)) return {0, count};
    const float middle = static_cast<float>(pixel) - start_;
    const auto begin = static_cast<int64_t>(::floorf(near_enough((middle - 1) / step_))) - 1;
    const auto end = static_cast<int64_t>(::ceilf(near_enough((middle + 1) / step_))) + 2;
    return robusta::within({begin, end}, count);
  }

 private:
  int64_t extent_;
  float start_ = 0, step_ = 0;  ///< pixels of the features
  bool empty_ = false;
};

/// The value of a plane at a place of both axes.
template <typename T, typename From>
ROBUSTA_HOST_DEVICE T value_at(const From* image, int64_t width, const PlaceSample& h, const PlaceSample& w) {
  if (!h.inside || !w.inside) return 0;
  const From *upper = image + h.lower * width, *below = image + h.upper * width;
  const T right = static_cast<T>(w.share), down = static_cast<T>(h.share);
  const T first = (1 - right) * static_cast<T>(upper[w.lower]) + right * static_cast<T>(upper[w.upper]);
  const T second = (1 - right) * static_cast<T>(below[w.lower]) + right * static_cast<T>(below[w.upper]);
  return (1 - down) * first + down * second;
}

/// Its slope from row to row; 0 where a place has no neighbour.
template <typename T, typename From>
ROBUSTA_HOST_DEVICE T row_slope_at(const From* image, int64_t width, const PlaceSample& h, const PlaceSample& w) {
  if (!h.inside || !w.inside || h.lower == h.upper) return 0;
  const From *upper = image + h.lower * width, *below = image + h.upper * width;
  const T right = static_cast<T>(w.share);
  return (1 - right) * (static_cast<T>(below[w.lower]) - static_cast<T>(upper[w.lower])) +
         right * (static_cast<T>(below[w.upper]) - static_cast<T>(upper[w.upper]));
}

/// The same from column to column.
template <typename T, typename From>
ROBUSTA_HOST_DEVICE T column_slope_at(const From* image, int64_t width, const PlaceSample& h, const PlaceSample& w) {
  if (!h.inside || !w.inside || w.lower == w.upper) return 0;
  const From *upper = image + h.lower * width, *below = image + h.upper * width;
  const T down = static_cast<T>(h.share);
  return (1 - down) * (static_cast<T>(upper[w.upper]) - static_cast<T>(upper[w.lower])) +
         down * (static_cast<T>(below[w.upper]) - static_cast<T>(below[w.lower]));
}

/// What coordinate `k` of a region (1: x1, 2: y1, 3: x2, 4: y2) does to the place (i, j): the slope there, as if
/// corners were not rounded.
template <typename T, typename From>
ROBUSTA_HOST_DEVICE T corner_slope(const RegionGrid& grid, const From* image, int64_t width, int64_t k, int64_t i,
                                   int64_t j, const PlaceSample& h, const PlaceSample& w) {
  const bool row = k % 2 == 0;
  const T part =
      row ? static_cast<T>(i) / static_cast<T>(grid.row_steps) : static_cast<T>(j) / static_cast<T>(grid.column_steps);
  const T slope = row ? row_slope_at<T>(image, width, h, w) : column_slope_at<T>(image, width, h, w);
  return static_cast<T>(grid.scale) * (k > 2 ? part : 1 - part) * slope;
}

class RegionSamplingLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom == 0 || has_corner_gradient(); }
  /// Whether regions have a gradient.
  virtual bool has_corner_gradient() const { return false; }

  const RegionGrid& grid() const { return grid_; }
  /// After infer_tops.
  const RegionExtents& extents() const { return extents_; }

 protected:
  /// Throws Error{kConfig} unless both are above 0, of `message` with pooled_h and pooled_w.
  static void require_bins(int64_t rows, int64_t columns, const std::string& message);
  void set_grid(const RegionGrid& grid) { grid_ = grid; }

 private:
  RegionGrid grid_;
  RegionExtents extents_;
};

/// What all kernels book.
void book_region_sampling(const KernelRequest& request, Booking& booking);

/// Registers the reference kernel.
bool register_region_sampling_kernel(const std::string& type);

#define ROBUSTA_REGISTER_REGION_SAMPLING(type, Class) \
  ROBUSTA_REGISTER_LAYER(type, Class);                \
  static const bool registered_region_sampling_##Class = ::robusta::register_region_sampling_kernel(type)

}  // namespace robusta
