/// The grid that DetectNet learns, and the lists of objects that it is made of. For hosts and GPUs.
///
/// A sample's list is rows of 16 numbers. The first begins with the number of objects and with 16; each of the others
/// is an object: left and upper edge, width and height in pixels, angle, class, and ten more, of which nothing is read
/// here. A cell is `stride` pixels a side. The part of an object's box around its middle that counts is scale_cvg of
/// its sides, no longer than max_cvg_len (GRIDBOX_MAX), or no shorter than min_cvg_len and no longer than the box
/// (GRIDBOX_MIN). A cell that it touches has the numbers of the object; of several objects, the last one's:
///
///   0     1, the foreground
///   1-4   left, upper, right and lower edge of the box, counted from the upper left corner of the cell
///   5, 6  1 / width, 1 / height
///   7     the cells' share in the part that counts: stride^2 / its area; at least 1 without obj_norm
///   8 +   1 in the place of the object's class
///
/// All other numbers are 0.
#pragma once

#include "layers/types/detectnet_transformation/augmentation.h"

namespace robusta {

inline constexpr int64_t kObjectNumbers = 16, kGridNumbers = 8;

/// The objects of each sample.
template <typename T>
struct ObjectLists {
  enum Place : int64_t { kX = 0, kY = 1, kWidth = 2, kHeight = 3, kClass = 5 };

  const T* numbers;
  int64_t rows;  ///< of a sample, with the first one

  ROBUSTA_HOST_DEVICE int64_t per_sample() const { return rows * kObjectNumbers; }
  /// REQUIRES: fault(sample) < 0.
  ROBUSTA_HOST_DEVICE int64_t count(int64_t sample) const {
    return static_cast<int64_t>(numbers[sample * per_sample()]);
  }
  ROBUSTA_HOST_DEVICE const T* object(int64_t sample, int64_t i) const {
    return numbers + sample * per_sample() + (1 + i) * kObjectNumbers;
  }
  ROBUSTA_HOST_DEVICE ObjectBox<T> box(int64_t sample, int64_t i) const {
    const T* const n = object(sample, i);
    return {n[kX], n[kY], n[kWidth], n[kHeight]};
  }
  /// The place of the first number that cannot be, over all samples: a count that there is no room for, rows of another
  /// length, an edge that is no number. -1: none.
  ROBUSTA_HOST_DEVICE int64_t fault(int64_t sample) const {
    const int64_t first = sample * per_sample();
    const T said = numbers[first];
    if (!(said > -1 && said < static_cast<T>(rows))) return first;
    const auto objects = static_cast<int64_t>(said);
    if (objects > 0 && numbers[first + 1] != static_cast<T>(kObjectNumbers)) return first + 1;
    for (int64_t i = 0; i < objects; ++i) {
      for (int64_t k = kX; k <= kHeight; ++k) {
        const int64_t place = first + (1 + i) * kObjectNumbers + k;
        if (!(numbers[place] >= -kFurthest && numbers[place] <= kFurthest)) return place;
      }
    }
    return -1;
  }

  /// Pixels beyond which no image reaches.
  static constexpr T kFurthest = T{1e9f};
};

/// How objects become cells.
struct CoverageRule {
  int64_t stride = 1;
  ImageSize image, grid;
  int64_t classes = 1;
  bool at_least = false;                            ///< GRIDBOX_MIN
  float scale = 0, length = 0;                      ///< scale_cvg, and min_cvg_len or max_cvg_len
  bool crops_boxes = true, weighs_objects = false;  ///< crop_bboxes, obj_norm
  const float* mapping = nullptr;                   ///< pairs: a class of the objects, its place
  int64_t mappings = 0;

  ROBUSTA_HOST_DEVICE int64_t cells() const { return grid.width * grid.height; }
  ROBUSTA_HOST_DEVICE int64_t numbers() const { return kGridNumbers + classes; }

  /// The place of an object's class; -1: it is none of those that are learned. Of two mappings the last counts.
  template <typename T>
  ROBUSTA_HOST_DEVICE int64_t place_of(T label) const {
    if (!(label > -1 && label < static_cast<T>(1 << 24))) return -1;
    const auto whole = static_cast<float>(static_cast<int64_t>(label));
    for (int64_t i = mappings; i-- > 0;) {
      if (mapping[2 * i] == whole) return static_cast<int64_t>(mapping[2 * i + 1]);
    }
    return -1;
  }
};

/// For each cell of the batch: looks for the last object that covers it, and writes all of its numbers.
template <typename T>
struct CoverEach {
  CoverageRule rule;
  ObjectLists<T> lists;
  ImageSize in;  ///< images before they are augmented
  const DrawnAugmentation* drawn;
  T* y;

  ROBUSTA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t sample = i / rule.cells(), cell = i % rule.cells();
    const T left = static_cast<T>(cell % rule.grid.width * rule.stride),
            upper = static_cast<T>(cell / rule.grid.width * rule.stride);
    T* const out = y + sample * rule.numbers() * rule.cells() + cell;
    for (int64_t k = 0; k < rule.numbers(); ++k) out[k * rule.cells()] = 0;
    if (lists.fault(sample) >= 0) return;
    for (int64_t object = lists.count(sample); object-- > 0;) {
      const int64_t place = rule.place_of(lists.object(sample, object)[ObjectLists<T>::kClass]);
      if (place < 0) continue;
      const ObjectBox<T> box = visible(moved(lists.box(sample, object), in, drawn[sample]));
      if (!(box.width > 0 && box.height > 0 && box.width * box.height >= kNothing)) continue;
      const ObjectBox<T> part = counted(box);
      const ObjectBox<T> square{left, upper, static_cast<T>(rule.stride), static_cast<T>(rule.stride)};
      const T area = square.width * square.height;
      if (!(common_area(part, square) / area > kNothing)) continue;
      const T share = area / (part.width * part.height);
      const T numbers[kGridNumbers] = {1,
                                       box.x - left,
                                       box.y - upper,
                                       box.x + box.width - left,
                                       box.y + box.height - upper,
                                       1 / box.width,
                                       1 / box.height,
                                       rule.weighs_objects || share > 1 ? share : T{1}};
      for (int64_t k = 0; k < kGridNumbers; ++k) out[k * rule.cells()] = numbers[k];
      out[(kGridNumbers + place) * rule.cells()] = 1;
      return;
    }
  }

 private:
  static constexpr T kNothing = T{0x1.0p-23f};  // FLT_EPSILON

  ROBUSTA_HOST_DEVICE static T smaller(T a, T b) { return a < b ? a : b; }
  ROBUSTA_HOST_DEVICE static T larger(T a, T b) { return a > b ? a : b; }

  ROBUSTA_HOST_DEVICE static ObjectBox<T> common(const ObjectBox<T>& a, const ObjectBox<T>& b) {
    const T x = larger(a.x, b.x), y = larger(a.y, b.y);
    return {x, y, larger(0, smaller(a.x + a.width, b.x + b.width) - x),
            larger(0, smaller(a.y + a.height, b.y + b.height) - y)};
  }
  ROBUSTA_HOST_DEVICE static T common_area(const ObjectBox<T>& a, const ObjectBox<T>& b) {
    const ObjectBox<T> both = common(a, b);
    return both.width * both.height;
  }
  ROBUSTA_HOST_DEVICE ObjectBox<T> visible(const ObjectBox<T>& box) const {
    if (!rule.crops_boxes) return box;
    return common(box, {0, 0, static_cast<T>(rule.image.width), static_cast<T>(rule.image.height)});
  }
  /// The part of a box that counts.
  ROBUSTA_HOST_DEVICE ObjectBox<T> counted(const ObjectBox<T>& box) const {
    const T width = counted_side(box.width), height = counted_side(box.height);
    return {box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width, height};
  }
  ROBUSTA_HOST_DEVICE T counted_side(T side) const {
    const T part = side * static_cast<T>(rule.scale), length = static_cast<T>(rule.length);
    return rule.at_least ? smaller(side, larger(length, part)) : smaller(length, part);
  }
};

}  // namespace robusta
