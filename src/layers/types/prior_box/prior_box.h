/// PriorBox: the boxes that a detector begins with, a few of given sizes at every pixel of a feature map (Liu et al.
/// 2016, "SSD: Single Shot MultiBox Detector", section 2.2). Shared by its kernels.
///
/// As in weiliu89/caffe, branch ssd (prior_box_layer.cpp). The top is [1, 2, height x width x boxes x 4]: the corners
/// xmin, ymin, xmax, ymax of each box as parts of the image, then the variance of each of these. At each pixel, for
/// each min_size: a square of that size, a square of sqrt(min_size x max_size) if there is a max_size, then one box of
/// min_size^2 pixels for each further aspect ratio. Sizes are whole pixels: what a file gives is cut to these.
///
/// With `tf` (Synopsys, src/caffe/layers/prior_box_layer.cpp of its Caffe) the second square comes after the further
/// ratios, and that of a min_size of 60 ends 0.05 of the image earlier on each side, as in TensorFlow's SSD; with
/// `yx_order` corners are ymin, xmin, ymax, xmax.
///
/// Of its bottoms, features and image, only the extents matter: nothing is computed that depends on values.
#pragma once

#include <array>
#include <vector>

#include "base/half.h"
#include "layers/kit/booking.h"
#include "layers/kit/layer.h"

namespace robusta {

/// One box around the middle of a pixel, in pixels of the image.
struct PriorSize {
  float width, height;
};

/// The min_size whose square is smaller with `tf`, and by what part of the image on both sides together.
inline constexpr float kSmallerSquare = 60, kSmallerBy = 0.1f;

/// Where boxes lie. After infer_tops.
struct PriorGrid {
  int64_t height, width, boxes;     ///< pixels of the features, boxes at each
  float image_height, image_width;  ///< pixels
  float step_height, step_width;    ///< pixels of the image from one pixel of the features to the next
  float offset;                     ///< of the middle of a box within its step: 0.5 is the middle
  bool clip;                        ///< corners end at the edges of the image
  bool rows_first;                  ///< y is before x

  int64_t coordinates() const { return height * width * boxes * 4; }

  /// Coordinate `which` (xmin, ymin, xmax, ymax, unless rows_first) of a box of this size at pixel (h, w).
  ROBUSTA_HOST_DEVICE float coordinate(int64_t h, int64_t w, PriorSize size, int64_t which) const {
    // The types are those of Caffe's expressions, (w + offset) * step in float and (center_x - box_width / 2.) /
    // img_width in double: a corner that is rounded otherwise can decide which box is matched.
    const bool of_width = (which % 2 == 0) != rows_first;
    const float middle = (static_cast<float>(of_width ? w : h) + offset) * (of_width ? step_width : step_height);
    const double half = (of_width ? size.width : size.height) / 2.0;
    const auto place = static_cast<float>((which < 2 ? middle - half : middle + half) /
                                          static_cast<double>(of_width ? image_width : image_height));
    if (!clip) return place;
    return place < 0 ? 0.0f : place > 1 ? 1.0f : place;
  }
};

class PriorBoxLayer : public Layer {
 public:
  explicit PriorBoxLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }

  const std::array<float, 4>& variances() const { return variances_; }
  /// After infer_tops.
  const std::vector<PriorSize>& sizes() const { return sizes_; }
  const PriorGrid& grid() const { return grid_; }

 private:
  std::vector<PriorSize> given_, sizes_;  ///< as the fields say, and for this image
  std::array<float, 4> variances_;
  PriorGrid grid_ = {};
};

/// What every kernel books: bottoms may lie as they do, since nobody reads them.
inline void book_prior_box(const KernelRequest& request, Booking& booking) {
  booking.repeatable = true;
  book_reads_nothing(request.bottoms.size(), booking);
  for (const TensorDesc& bottom : request.bottoms) {
    booking.bottom_layouts.push_back(bottom.layout);
    booking.bottom_types.push_back(bottom.dtype);
  }
}

}  // namespace robusta
