/// RegionLoss: the loss of YOLO's second version (Redmon, Farhadi 2017, "YOLO9000: Better, Faster, Stronger"). Shared
/// by its kernels.
///
/// As in Intel's Caffe (intel/caffe, region_loss_layer.cpp). Bottoms: predictions (kit/anchors.h) of `num` anchors and
/// `num_class` classes; boxes as AnnotatedData gives them, rows [item, class, instance, xmin, ymin, xmax, ymax,
/// difficult] with classes from 1 on and corners as parts of the image; item -1, or a box without area: no box.
///
/// A box belongs to the cell that its centre lies in, and there to the anchor that it overlaps most, were both centred:
/// with bias_match the anchor itself, else what is predicted for it. Of several boxes of one prediction the last
/// counts. Errors, where s is the sigmoid of a number and t what it should be:
///
///   with a box     x, y: coord_scale clip(s - t) s (1 - s); w, h: coord_scale clip(number - t), clip to -1..1;
///                  object: -2 object_scale (1 - s)^4 s; classes: class_scale (softmax - t)
///   without        object: noobject_scale s^2 (1 - s), 0 where some box is overlapped by more than `thresh`
///
/// The gradient is divided by the number of items, and the loss is not.
///
/// There a box without overlap with any anchor changes the first prediction of the batch, and a cell is found by `side`
/// whatever the grid is; here there is none of the former, and the grid is that of the bottom.
///
/// Boxes may be rows of five as well, as BoxData gives them, or AnnotatedData with yolo_data_type 1, as many for each
/// item: class from 0 on, x and y of the middle, width, height, all as parts of the image; a row without area is no
/// box. The errors are then those of eric612/MobileNet-YOLO (region_loss_layer.cpp), and the loss is divided by the
/// number of items, too. They differ where there is a box:
///
///   x, y: k (s - t) s (1 - s); w, h: k (number - t); object: object_scale (s - o) s (1 - s)
///
/// with k = coord_scale and o = the overlap of the box and what is predicted; without `rescore` k = coord_scale
/// (2 - width height) and o = 1. There a row of width 0 ends the boxes of an item. Older forks (caffe-yolov2) pull what
/// is predicted to the anchors for the first 12,800 samples, which MobileNet-YOLO leaves out.
#pragma once

#include "layers/kit/anchor_loss.h"
#include "layers/kit/labels.h"

namespace robusta {

/// How bottom 1 holds boxes: in rows of eight numbers, or centred ones in rows of five.
struct RegionRows {
  bool centred = false;
  int64_t of_item = 0;  ///< centred: as many rows for each item

  enum Place : int64_t { kItem = 0, kClass = 1, kXmin = 3, kYmin = 4, kXmax = 5, kYmax = 6 };
  enum CentredPlace : int64_t { kOwnClass = 0, kX = 1, kY = 2, kWidth = 3, kHeight = 4 };

  ROBUSTA_HOST_DEVICE int64_t width() const { return centred ? 5 : 8; }
  ROBUSTA_HOST_DEVICE int64_t class_at() const { return centred ? int64_t{kOwnClass} : int64_t{kClass}; }

  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t item(int64_t row, const L* boxes) const {
    return centred ? row / of_item : int64_t{to_label(boxes[row * width() + kItem])};
  }
  /// From 0 on.
  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t label(int64_t row, const L* boxes) const {
    const int given = to_label(boxes[row * width() + class_at()]);
    return centred || given < 0 ? int64_t{given} : int64_t{given} - 1;
  }
  template <typename T, typename L>
  ROBUSTA_HOST_DEVICE CentredBox<T> box(int64_t row, const L* boxes) const {
    const L* const numbers = boxes + row * width();
    if (centred) {
      return {static_cast<T>(numbers[kX]), static_cast<T>(numbers[kY]), static_cast<T>(numbers[kWidth]),
              static_cast<T>(numbers[kHeight])};
    }
    const T xmin = static_cast<T>(numbers[kXmin]), ymin = static_cast<T>(numbers[kYmin]);
    const T xmax = static_cast<T>(numbers[kXmax]), ymax = static_cast<T>(numbers[kYmax]);
    return {(xmin + xmax) / 2, (ymin + ymax) / 2, xmax - xmin, ymax - ymin};
  }
};

class RegionLossLayer : public AnchorLossLayer {
 public:
  explicit RegionLossLayer(const caffe::LayerParameter& param);
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// After infer_tops.
  const RegionRows& row_form() const { return form_; }
  [[noreturn]] void throw_bad_box(int64_t place, double value, const Pass& pass) const override;

 protected:
  AnchorGrid grid_of(const Shape& predictions) const override;
  int64_t rows_of(const Shape& boxes) const override;

 private:
  RegionRows form_;
  bool warned_ = false;  ///< of a field that changes nothing
};

/// A rule (kit/anchor_loss.h).
template <typename Math>
struct RegionRule {
  using T = typename Math::T;
  explicit RegionRule(const AnchorLossLayer& layer)
      : grid(layer.grid()),
        anchors(read_anchors(parameter(layer).biases(), grid.anchors, "region_loss_param")),
        rows(layer.rows()),
        form(static_cast<const RegionLossLayer&>(layer).row_form()),
        rescores(parameter(layer).rescore() != 0),
        match_anchors(parameter(layer).bias_match() != 0),
        object(parameter(layer).object_scale()),
        no_object(parameter(layer).noobject_scale()),
        classes(parameter(layer).class_scale()),
        coordinates(parameter(layer).coord_scale()),
        threshold(parameter(layer).thresh()) {}
  static const caffe::RegionLossParameter& parameter(const AnchorLossLayer& layer) {
    return layer.param().region_loss_param();
  }

  template <typename L>
  ROBUSTA_HOST_DEVICE int64_t fault(int64_t row, const L* boxes) const {
    const int64_t first = row * form.width(), item = form.item(row, boxes);
    if (!form.centred && item == -1) return -1;
    if (item < 0 || item >= grid.items) return first + RegionRows::kItem;
    const CentredBox<T> box = form.template box<T>(row, boxes);
    const int64_t x = form.centred ? int64_t{RegionRows::kX} : int64_t{RegionRows::kXmin};
    const int64_t width = form.centred ? int64_t{RegionRows::kWidth} : int64_t{RegionRows::kXmax};
    if (!(box.x >= 0 && box.x <= 1)) return first + x;
    if (!(box.y >= 0 && box.y <= 1)) return first + x + 1;
    if (!is_size(box.w)) return first + width;
    if (!is_size(box.h)) return first + width + 1;
    const int64_t label = form.label(row, boxes);
    const bool is_box = box.w > 0 && box.h > 0, is_class = label >= 0 && label < grid.numbers - kFirstClass;
    return is_box && !is_class ? first + form.class_at() : -1;
  }

  /// Whether the row is a box of this item.
  template <typename L>
  ROBUSTA_HOST_DEVICE bool is_of(int64_t item, int64_t row, const L* boxes) const {
    if (form.item(row, boxes) != item || fault(row, boxes) >= 0) return false;
    const CentredBox<T> box = form.template box<T>(row, boxes);
    return box.w > 0 && box.h > 0;
  }

  /// The box predicted for an anchor, of whose numbers the first one lies at x.
  template <typename X>
  ROBUSTA_HOST_DEVICE CentredBox<T> predicted(const X* x, int64_t anchor, int64_t i, int64_t j) const {
    const auto number = [&](int64_t c) { return static_cast<T>(x[c * grid.cells()]); };
    const T width = static_cast<T>(grid.width), height = static_cast<T>(grid.height);
    return {(static_cast<T>(i) + Math::sigmoid(number(0))) / width,
            (static_cast<T>(j) + Math::sigmoid(number(1))) / height,
            Math::exp(number(2)) * static_cast<T>(anchors.w[anchor]) / width,
            Math::exp(number(3)) * static_cast<T>(anchors.h[anchor]) / height};
  }

  /// The anchor that a box of this prediction's cell belongs to; -1: none.
  template <typename X>
  ROBUSTA_HOST_DEVICE int64_t best_anchor(const CentredBox<T>& box, int64_t prediction, const X* x) const {
    const int64_t first = grid.first_of(prediction) - grid.anchor_of(prediction) * grid.numbers * grid.cells();
    int64_t best = -1;
    T most = 0;
    for (int64_t n = 0; n < grid.anchors; ++n) {
      T w = static_cast<T>(anchors.w[n]) / static_cast<T>(grid.width);
      T h = static_cast<T>(anchors.h[n]) / static_cast<T>(grid.height);
      if (!match_anchors) {
        const CentredBox<T> size = predicted(x + first + n * grid.numbers * grid.cells(), n, 0, 0);
        w = size.w, h = size.h;
      }
      const T common = overlap_of_sizes(w, h, box.w, box.h);
      if (common > most) best = n, most = common;
    }
    return best;
  }

  template <typename X, typename L>
  ROBUSTA_HOST_DEVICE void write(int64_t prediction, const X* x, const L* boxes, T* errors) const {
    const int64_t first = grid.first_of(prediction), anchor = grid.anchor_of(prediction);
    const int64_t i = grid.column_of(prediction), j = grid.row_of(prediction);
    const CentredBox<T> guess = predicted(x + first, anchor, i, j);
    T most = 0;
    int64_t own = -1;
    // Rows of five lie item by item.
    const int64_t item = grid.item_of(prediction), begin = form.centred ? item * form.of_item : 0;
    const int64_t end = form.centred ? begin + form.of_item : rows;
    for (int64_t row = begin; row < end; ++row) {
      if (!is_of(item, row, boxes)) continue;
      const CentredBox<T> box = form.template box<T>(row, boxes);
      const T common = overlap(guess, box);
      if (common > most) most = common;
      const bool here = grid.cell_at(box.x, grid.width) == i && grid.cell_at(box.y, grid.height) == j;
      if (here && best_anchor(box, prediction, x) == anchor) own = row;
    }
    for (int64_t c = 0; c < grid.numbers; ++c) errors[first + c * grid.cells()] = 0;
    const T s = Math::sigmoid(static_cast<T>(x[first + kObjectNumber * grid.cells()]));
    T& error_of_object = errors[first + kObjectNumber * grid.cells()];
    if (own < 0) {
      if (!(most > threshold)) error_of_object = no_object * s * s * (1 - s);
      return;
    }
    const CentredBox<T> box = form.template box<T>(own, boxes);
    if (form.centred) {
      error_of_object = object * (s - (rescores ? overlap(guess, box) : T{1})) * s * (1 - s);
    } else {
      error_of_object = -2 * object * (1 - s) * (1 - s) * (1 - s) * (1 - s) * s;
    }
    write_box(box, anchor, i, j, x + first, errors + first);
    write_classes(form.label(own, boxes), x + first, errors + first);
  }

  ROBUSTA_HOST_DEVICE T slope(int64_t, T) const { return 1; }

  AnchorGrid grid;
  Anchors anchors;
  int64_t rows;
  RegionRows form;
  bool rescores, match_anchors;
  T object, no_object, classes, coordinates, threshold;

 private:
  /// A width or height. Beyond the whole image that of rows of five would turn errors about, which weigh 2 - w h.
  ROBUSTA_HOST_DEVICE bool is_size(T size) const {
    return size >= 0 && (!form.centred || size <= static_cast<T>(1.001));  // rounding is forgiven
  }
  /// Errors of rows of five have no bounds.
  ROBUSTA_HOST_DEVICE T clip(T x) const { return form.centred ? x : x > 1 ? T{1} : x < -1 ? T{-1} : x; }

  template <typename X>
  ROBUSTA_HOST_DEVICE void write_box(const CentredBox<T>& box, int64_t anchor, int64_t i, int64_t j, const X* x,
                                     T* errors) const {
    const T width = static_cast<T>(grid.width), height = static_cast<T>(grid.height);
    const T wanted[kBoxNumbers] = {box.x * width - static_cast<T>(i), box.y * height - static_cast<T>(j),
                                   Math::log(box.w * width / static_cast<T>(anchors.w[anchor])),
                                   Math::log(box.h * height / static_cast<T>(anchors.h[anchor]))};
    const T times = form.centred && !rescores ? coordinates * (2 - box.w * box.h) : coordinates;
    for (int64_t c = 0; c < kBoxNumbers; ++c) {
      const T number = static_cast<T>(x[c * grid.cells()]), s = Math::sigmoid(number);
      errors[c * grid.cells()] = times * (c < 2 ? clip(s - wanted[c]) * s * (1 - s) : clip(number - wanted[c]));
    }
  }

  template <typename X>
  ROBUSTA_HOST_DEVICE void write_classes(int64_t label, const X* x, T* errors) const {
    const auto score = [&](int64_t c) { return static_cast<T>(x[c * grid.cells()]); };
    T largest = score(kFirstClass), sum = 0;
    for (int64_t c = kFirstClass; c < grid.numbers; ++c) largest = score(c) > largest ? score(c) : largest;
    for (int64_t c = kFirstClass; c < grid.numbers; ++c) sum += Math::exp(score(c) - largest);
    for (int64_t c = kFirstClass; c < grid.numbers; ++c) {
      const T share = Math::exp(score(c) - largest) / sum;
      errors[c * grid.cells()] = classes * (share - static_cast<T>(c - kFirstClass == label));
    }
  }
};

}  // namespace robusta
