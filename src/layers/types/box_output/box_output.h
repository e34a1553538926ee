/// BoxOutput: the boxes that maps of detections propose (Cai et al. 2016, "A unified multi-scale deep convolutional
/// neural network for fast object detection"). Shared by its kernels.
///
/// As in zhaoweicai/mscnn (src/caffe/layers/box_output_layer.cpp). Each bottom [items, classes + 4, height, width]
/// holds for each cell the scores of the classes, 0 being the background, and the code of a box around a field of
/// field_w x field_h pixels. A cell proposes its box where the best score of a class is by fg_thr or more above that of
/// the background and the box, cut to the image, is min_size or more wide and high. Of an item's boxes, over all
/// bottoms, the max_nms_num best are looked at, those that overlap a better one by more than iou_thr go, and
/// max_post_nms_num stay. Of equal scores the last cell comes first. Top 0 [n, 5, 1, 1]: item and corners; top 1 [n, 6,
/// 1, 1]: the score, too. Where a batch has no box, there is one of an item 0 from (1, 1) to (10, 10), with a score of
/// 0 in a row of zeros.
///
/// What is found is decided on the host before the layer runs (kit/sized_by_bottoms.h), in single precision; kernels
/// decode the boxes of that. A code or a score that is no number makes no box.
#pragma once

#include <cmath>

#include "base/half.h"
#include "layers/kit/box_statistics.h"
#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"
#include "ops/boxes.h"

namespace robusta {

/// How the cells of one bottom propose boxes.
struct BoxMap {
  int64_t channels = 0, height = 0, width = 0;
  float field_w = 0, field_h = 0, rate = 1;  ///< pixels of the field; pixels from cell to cell
  float least_shift = 0, most_shift = 0, least_log = 0, most_log = 0;
  BoxStatistics statistics;

  ROBUSTA_HOST_DEVICE int64_t cells() const { return height * width; }

  /// The best score above the background's. `x`: of the item.
  template <typename T>
  ROBUSTA_HOST_DEVICE T score(const T* x, int64_t cell) const {
    T best = x[cells() + cell];
    for (int64_t c = 2; c < channels - 4; ++c) {
      const T other = x[c * cells() + cell];
      best = other > best || other != other ? other : best;  // what is no number stays
    }
    return best - x[cell];
  }

  /// In pixels of the image. The code is that of R-CNN (Girshick et al. 2014, "Rich feature hierarchies", appendix C):
  /// the shifts of the middle in extents of the field, and the logarithms of how far its sides are stretched.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> box(const T* x, int64_t cell) const {
    const T* code = x + (channels - 4) * cells() + cell;
    const T row = static_cast<T>(cell / width), column = static_cast<T>(cell % width), half = T{1} / 2;
    const T wide = field_w * std::exp(within(number(code, 2), least_log, most_log));
    const T high = field_h * std::exp(within(number(code, 3), least_log, most_log));
    const T middle_x = within(number(code, 0), least_shift, most_shift) * field_w + (column + half) * rate;
    const T middle_y = within(number(code, 1), least_shift, most_shift) * field_h + (row + half) * rate;
    return cut(middle_x - wide / 2, middle_y - high / 2, wide, high);
  }

 private:
  template <typename T>
  ROBUSTA_HOST_DEVICE T number(const T* code, int k) const {
    return statistics.undo(k, code[k * cells()]);
  }
  template <typename T>
  ROBUSTA_HOST_DEVICE static T within(T value, float least, float most) {
    return value < least ? static_cast<T>(least) : value > most ? static_cast<T>(most) : value;
  }
  /// To an image of whole pixels, of which corners before its beginning move there, and the box with them.
  template <typename T>
  ROBUSTA_HOST_DEVICE Box<T> cut(T x, T y, T wide, T high) const {
    const T image_width = static_cast<T>(static_cast<int64_t>(static_cast<float>(width) * rate));
    const T image_height = static_cast<T>(static_cast<int64_t>(static_cast<float>(height) * rate));
    x = x < 0 ? T{0} : x;
    y = y < 0 ? T{0} : y;
    const T right = wide < image_width - x ? x + wide : image_width;
    const T below = high < image_height - y ? y + high : image_height;
    return {x, y, right, below};
  }
};

/// A row of the tops. Map -1: what stands for none.
struct ProposedBox {
  int64_t item, cell;
  int32_t map;
  float score;

  /// `x`: the values of its map. `scores` may be null.
  template <typename T>
  ROBUSTA_HOST_DEVICE void write(const BoxMap& of, const T* x, int64_t row, T* boxes, T* scores) const {
    const T* own = map < 0 ? nullptr : x + item * of.channels * of.cells();
    const Box<T> found = own ? of.box(own, cell) : Box<T>{1, 1, 10, 10};
    const T numbers[6] = {static_cast<T>(item), found.xmin, found.ymin,
                          found.xmax,           found.ymax, own ? of.score(own, cell) : T{0}};
    for (int k = 0; k < 5; ++k) boxes[row * 5 + k] = numbers[k];
    for (int k = 0; scores && k < 6; ++k) scores[row * 6 + k] = own ? numbers[k] : T{0};
  }
};

class BoxOutputLayer : public Layer, public SizedByBottoms {
 public:
  explicit BoxOutputLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {.min_bottoms = 1, .max_bottoms = -1, .min_tops = 1, .max_tops = 2}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return param().bottom_size() - 1; }
  std::vector<int> sizing_bottoms() const override;
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  /// After infer_tops: one for each bottom.
  const std::vector<BoxMap>& maps() const { return maps_; }
  /// What the last size_by_bottoms has found, a row each. Before: one row of nothing.
  const std::vector<ProposedBox>& found() const { return found_; }

 private:
  std::vector<ProposedBox> candidates(std::span<const std::vector<float>> values, int64_t item) const;
  std::vector<ProposedBox> suppressed(std::span<const std::vector<float>> values,
                                      const std::vector<ProposedBox>& best) const;

  BoxMap common_;  ///< what all maps have alike
  std::vector<BoxMap> maps_;
  int64_t items_ = 0;
  std::vector<ProposedBox> found_;
};

/// What every kernel books: there is no backward.
inline void book_box_output(const KernelRequest& request, Booking& booking) {
  booking.reads_bottoms.assign(request.bottoms.size(), false);
}

}  // namespace robusta
