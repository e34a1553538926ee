/// Yolov3: the loss of YOLO's third version at one of its scales (Redmon, Farhadi 2018, "YOLOv3: An Incremental
/// Improvement"). Shared by its kernels.
///
/// As in eric612/MobileNet-YOLO (yolov3_layer.cpp) with iou_loss MSE. Bottoms: predictions (kit/anchors.h) of `num`
/// anchors and `num_class` classes; for each item rows [class, x, y, width, height] with classes from 0 on and places
/// of centres as parts of the image, up to the first row of width 0. Anchors are pixels of an image of anchors_scale
/// pixels for each cell; those of `mask` are this scale's.
///
/// A box belongs to the cell that its centre lies in, and there to the anchor that it overlaps most, were both centred,
/// if that is one of this scale's; besides to those of this scale that it overlaps by more than iou_thresh. Of several
/// boxes of one prediction the last counts, but their classes all do. Errors, where s is the sigmoid of a number and t
/// what it should be:
///
///   with a box     x, y: coord_scale (2 - width x height) (s - t); w, h: the same with the number itself;
///                  object: s - 1; classes: class_scale (s - t), t being 1 and 0, smoothed by label_smooth_eps
///   without        object: s, 0 where some box is overlapped by more than `thresh`
///
/// which are the derivatives of cross entropies. With use_logic_gradient they are multiplied by s (1 - s), and that of
/// an object by object_scale, too. Both loss and gradient are divided by the number of items.
///
/// There an anchor that a box overlaps most may be looked at twice, which changes nothing with MSE.
#pragma once

#include "layers/kit/anchor_loss.h"
#include "layers/kit/labels.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class Yolov3Layer : public AnchorLossLayer, public TellsShapes {
 public:
  explicit Yolov3Layer(const caffe::LayerParameter& param);
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// Boxes: a row for each item.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override;
  [[noreturn]] void throw_bad_box(int64_t place, double value, const Pass& pass) const override;

 protected:
  AnchorGrid grid_of(const Shape& predictions) const override;
  int64_t rows_of(const Shape& boxes) const override;
};

/// A rule (kit/anchor_loss.h).
template <typename Math>
struct Yolov3Rule {
  using T = typename Math::T;
  enum Place : int64_t { kClass = 0, kX = 1, kY = 2, kWidth = 3, kHeight = 4, kRow = 5 };

  explicit Yolov3Rule(const AnchorLossLayer& layer)
      : grid(layer.grid()),
        anchors(read_anchors(parameter(layer).biases(), -1, "yolov3_param")),
        rows_of_item(layer.rows() / grid.items),
        sigmoid_slope(parameter(layer).use_logic_gradient()),
        object(sigmoid_slope ? parameter(layer).object_scale() : T{1}),
        classes(parameter(layer).class_scale()),
        coordinates(parameter(layer).coord_scale()),
        threshold(parameter(layer).thresh()),
        threshold_of_sizes(parameter(layer).iou_thresh()),
        smoothing(parameter(layer).label_smooth_eps()),
        image_width(static_cast<T>(grid.width) * static_cast<T>(parameter(layer).anchors_scale())),
        image_height(static_cast<T>(grid.height) * static_cast<T>(parameter(layer).anchors_scale())) {
    for (int64_t n = 0; n < grid.anchors; ++n) own_anchors[n] = parameter(layer).mask(static_cast<int>(n));
  }
  static const caffe::Yolov3Parameter& parameter(const AnchorLossLayer& layer) { return layer.param().yolov3_param(); }

  template <typename L>
  ROBUSTA_HOST_DEVICE static CentredBox<T> box_of(const L* row) {
    return {static_cast<T>(row[kX]), static_cast<T>(row[kY]), static_cast<T>(row[kWidth]),
            static_cast<T>(row[kHeight])};
  }

  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t fault(int64_t row, const L* boxes) const {
    for (int64_t before = row - row % rows_of_item; before <= row; ++before) {
      if (boxes[before * kRow + kWidth] == 0) return -1;
    }
    const int64_t column = bad_column(boxes + row * kRow);
    return column < 0 ? -1 : row * kRow + column;
  }

  /// Which number of a box is wrong; -1: none.
  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t bad_column(const L* numbers) const {
    const CentredBox<T> box = box_of(numbers);
    const int label = to_label(numbers[kClass]);
    if (label < 0 || label >= grid.numbers - kFirstClass) return kClass;
    if (!(box.x >= 0 && box.x <= 1)) return kX;
    if (!(box.y >= 0 && box.y <= 1)) return kY;
    if (!(box.w > 0 && box.w <= kLargest)) return kWidth;
    if (!(box.h > 0 && box.h <= kLargest)) return kHeight;
    return -1;
  }

  template <typename X>
  ROBUSTA_HOST_DEVICE CentredBox<T> predicted(const X* x, int64_t anchor, int64_t i, int64_t j) const {
    const auto number = [&](int64_t c) { return static_cast<T>(x[c * grid.cells()]); };
    return {(static_cast<T>(i) + Math::sigmoid(number(0))) / static_cast<T>(grid.width),
            (static_cast<T>(j) + Math::sigmoid(number(1))) / static_cast<T>(grid.height),
            Math::exp(number(2)) * width_of(anchor), Math::exp(number(3)) * height_of(anchor)};
  }

  /// Whether a box of some prediction's cell belongs to this anchor.
  ROBUSTA_HOST_DEVICE bool belongs_to(const CentredBox<T>& box, int64_t anchor) const {
    int64_t best = -1;
    T most = 0;
    for (int64_t n = 0; n < anchors.count; ++n) {
      const T common = overlap_of_sizes(width_of(n), height_of(n), box.w, box.h);
      if (common > most) best = n, most = common;
    }
    if (best == anchor) return true;
    return threshold_of_sizes < 1 &&
           overlap_of_sizes(width_of(anchor), height_of(anchor), box.w, box.h) > threshold_of_sizes;
  }

  template <typename X, typename L>
  ROBUSTA_HOST_DEVICE void write(int64_t prediction, const X* x, const L* boxes, T* errors) const {
    const int64_t first = grid.first_of(prediction), anchor = own_anchors[grid.anchor_of(prediction)];
    const int64_t i = grid.column_of(prediction), j = grid.row_of(prediction);
    const CentredBox<T> guess = predicted(x + first, anchor, i, j);
    for (int64_t c = 0; c < grid.numbers; ++c) errors[first + c * grid.cells()] = 0;
    T most = 0;
    bool has_box = false;
    const int64_t first_row = grid.item_of(prediction) * rows_of_item;
    for (int64_t row = first_row; row < first_row + rows_of_item; ++row) {
      const L* const numbers = boxes + row * kRow;
      if (numbers[kWidth] == 0) break;
      if (bad_column(numbers) >= 0) continue;
      const CentredBox<T> box = box_of(numbers);
      const T common = overlap(guess, box);
      if (common > most) most = common;
      const bool here = grid.cell_at(box.x, grid.width) == i && grid.cell_at(box.y, grid.height) == j;
      if (!here || !belongs_to(box, anchor)) continue;
      has_box = true;
      write_box(box, anchor, i, j, x + first, errors + first);
      write_classes(to_label(numbers[kClass]), x + first, errors + first);
    }
    const T s = Math::sigmoid(static_cast<T>(x[first + kObjectNumber * grid.cells()]));
    errors[first + kObjectNumber * grid.cells()] = has_box ? object * (s - 1) : most > threshold ? T{0} : s;
  }

  ROBUSTA_HOST_DEVICE T slope(int64_t number, T x) const {
    if (!sigmoid_slope || number == 2 || number == 3) return 1;
    const T s = Math::sigmoid(x);
    return s * (1 - s);
  }

  AnchorGrid grid;
  Anchors anchors;
  int64_t own_anchors[Anchors::kMost] = {};  ///< of this scale
  int64_t rows_of_item;
  bool sigmoid_slope;
  T object, classes, coordinates, threshold, threshold_of_sizes, smoothing, image_width, image_height;

 private:
  static constexpr T kLargest = T{1e30};

  ROBUSTA_HOST_DEVICE T width_of(int64_t anchor) const { return static_cast<T>(anchors.w[anchor]) / image_width; }
  ROBUSTA_HOST_DEVICE T height_of(int64_t anchor) const { return static_cast<T>(anchors.h[anchor]) / image_height; }

  template <typename X>
  ROBUSTA_HOST_DEVICE void write_box(const CentredBox<T>& box, int64_t anchor, int64_t i, int64_t j, const X* x,
                                     T* errors) const {
    const T wanted[kBoxNumbers] = {box.x * static_cast<T>(grid.width) - static_cast<T>(i),
                                   box.y * static_cast<T>(grid.height) - static_cast<T>(j),
                                   Math::log(box.w / width_of(anchor)), Math::log(box.h / height_of(anchor))};
    const T scale = coordinates * (2 - box.w * box.h);
    for (int64_t c = 0; c < kBoxNumbers; ++c) {
      const T number = static_cast<T>(x[c * grid.cells()]);
      errors[c * grid.cells()] = scale * ((c < 2 ? Math::sigmoid(number) : number) - wanted[c]);
    }
  }

  /// All classes of a prediction's first box; of a further one its own, unless that has no error so far.
  template <typename X>
  ROBUSTA_HOST_DEVICE void write_classes(int64_t label, const X* x, T* errors) const {
    const bool further = errors[(kFirstClass + label) * grid.cells()] != 0;
    for (int64_t c = 0; c < grid.numbers - kFirstClass; ++c) {
      if (further && c != label) continue;
      const int64_t at = (kFirstClass + c) * grid.cells();
      const T wanted = (c == label ? 1 - smoothing : T{0}) + smoothing / 2;
      errors[at] = classes * (Math::sigmoid(static_cast<T>(x[at])) - wanted);
    }
  }
};

}  // namespace robusta
