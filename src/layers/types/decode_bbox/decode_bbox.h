/// DecodeBBox: regions moved and stretched as the codes of their boxes say (zhaoweicai/mscnn,
/// src/caffe/layers/decode_bbox_layer.cpp, and DecodeBBoxesWithPrior in src/caffe/util/math_functions.cpp). Shared by
/// its kernels.
///
/// Bottoms: codes [n, 8], of which the last four are the foreground's; regions [n, 5], an item and the corners of a box
/// that belong to it, in pixels; when training, optionally, what the regions were matched with [n, k], the last number
/// being how much of both is common. The top is the regions [kept, 5, ...] with other corners. When testing all are
/// kept; when training those that are not upside down, and not as good as what they were matched with: common below
/// gt_iou_thr. Nothing has a gradient.
///
/// What is kept is decided on the host before the layer runs (kit/sized_by_bottoms.h), in single precision.
#pragma once

#include <cmath>

#include "layers/kit/box_statistics.h"
#include "layers/kit/kernel.h"
#include "layers/kit/sized_by_bottoms.h"
#include "ops/boxes.h"

namespace robusta {

/// `region`: item and corners; `code`: eight numbers. The last pixels belong to a region, so that it is right - left +
/// 1 wide; the code is R-CNN's (Girshick et al. 2014, "Rich feature hierarchies", appendix C), shifts and logarithms of
/// stretchings.
template <typename T>
ROBUSTA_HOST_DEVICE Box<T> decode_region(const BoxStatistics& statistics, const T* region, const T* code) {
  const T wide = region[3] - region[1] + 1, high = region[4] - region[2] + 1;
  const T x = statistics.undo(0, code[4]) * wide + (region[1] + region[3]) / 2;
  const T y = statistics.undo(1, code[5]) * high + (region[2] + region[4]) / 2;
  const T new_wide = wide * std::exp(statistics.undo(2, code[6]));
  const T new_high = high * std::exp(statistics.undo(3, code[7]));
  const T left = x - (new_wide - 1) / 2, top = y - (new_high - 1) / 2;
  return {left, top, left + new_wide - 1, top + new_high - 1};
}

class DecodeBboxLayer : public Layer, public SizedByBottoms {
 public:
  explicit DecodeBboxLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 3, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int) const override { return false; }
  bool has_backward() const override { return false; }

  int sizing_bottom() const override { return training() ? param().bottom_size() - 1 : -1; }
  std::vector<int> sizing_bottoms() const override;
  void size_by_bottoms(std::span<const std::vector<float>> values) override;

  const BoxStatistics& statistics() const { return statistics_; }
  bool keeps_all() const { return keeps_all_; }
  /// The regions that are kept, in order, unless all are.
  const std::vector<int64_t>& kept() const { return kept_; }

 private:
  BoxStatistics statistics_;
  int64_t regions_ = -1;
  bool keeps_all_ = true;
  std::vector<int64_t> kept_;
};

/// What every kernel books: there is no backward.
inline void book_decode_bbox(const KernelRequest& request, Booking& booking) {
  booking.reads_bottoms.assign(request.bottoms.size(), false);
}

/// Row `row` of the top.
template <typename T>
ROBUSTA_HOST_DEVICE void write_region(const BoxStatistics& statistics, int64_t region, const T* codes, const T* regions,
                                      T* row) {
  const Box<T> box = decode_region(statistics, regions + region * 5, codes + region * 8);
  row[0] = regions[region * 5];
  row[1] = box.xmin, row[2] = box.ymin, row[3] = box.xmax, row[4] = box.ymax;
}

}  // namespace robusta
