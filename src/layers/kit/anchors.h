/// Boxes as the YOLO detectors predict them: each cell of a grid over the image has a box for each anchor, a size that
/// is given (Redmon, Farhadi 2017, "YOLO9000: Better, Faster, Stronger", section 2). Pure data and functions; those
/// that are templates run on GPUs, too.
///
/// A bottom is [items, anchors x numbers, height, width]. The numbers of a prediction are x and y of the centre and
/// width and height of the box, each encoded, then whether there is an object, then a score for each class. Sizes and
/// places of boxes are parts of the image.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "base/str.h"
#include "ops/boxes.h"
#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

/// What precedes the scores of the classes.
inline constexpr int64_t kBoxNumbers = 4, kObjectNumber = 4, kFirstClass = 5;

template <typename T>
struct CentredBox {
  T x, y, w, h;  ///< of its middle; in the units of whoever makes it
  ROBUSTA_HOST_DEVICE Box<T> corners() const { return {x - w / 2, y - h / 2, x + w / 2, y + h / 2}; }
};

template <typename T>
ROBUSTA_HOST_DEVICE T overlap(const CentredBox<T>& a, const CentredBox<T>& b) {
  return overlap(a.corners(), b.corners());
}
/// The same for boxes with one centre.
template <typename T>
ROBUSTA_HOST_DEVICE T overlap_of_sizes(T aw, T ah, T bw, T bh) {
  return overlap(CentredBox<T>{0, 0, aw, ah}, CentredBox<T>{0, 0, bw, bh});
}

/// The sizes of anchors, by value, so that kernels can hold them.
struct Anchors {
  static constexpr int64_t kMost = 64;
  int64_t count = 0;  ///< of `w` and `h` that are set
  float w[kMost] = {}, h[kMost] = {};
};

/// Pairs of width and height, as the field `biases` of `message` lists them. Throws Error{kConfig} unless they are
/// positive, and, where `wanted` is not negative, as many.
template <typename Biases>
Anchors read_anchors(const Biases& biases, int64_t wanted, std::string_view message) {
  const auto refused = [&](const std::string& cause, const std::string& fix) {
    return Error(ErrorKind::kConfig, cause, fix).in_field(str(message, ".biases"));
  };
  const int64_t numbers = biases.size();
  if (numbers == 0) throw refused("no biases are given", "give width and height of each anchor");
  if (numbers % 2 != 0) throw refused(str("there are ", numbers, " biases"), "give width and height of each anchor");
  if (wanted >= 0 && numbers != 2 * wanted) {
    throw refused(str("there are ", numbers, " biases for ", wanted, " anchors"), "give width and height of each");
  }
  if (numbers > 2 * Anchors::kMost) {
    throw refused(str("there are ", numbers / 2, " anchors"), str("give at most ", Anchors::kMost));
  }
  Anchors anchors;
  anchors.count = numbers / 2;
  for (int i = 0; i < biases.size(); ++i) {
    const float size = biases.Get(i);
    if (!(size > 0 && std::isfinite(size))) throw refused(str("a bias is ", size), "give positive numbers");
    (i % 2 == 0 ? anchors.w : anchors.h)[i / 2] = size;
  }
  return anchors;
}

/// How predictions lie in a bottom.
struct AnchorGrid {
  int64_t items = 1, anchors = 1, numbers = 1, height = 1, width = 1;  ///< [items, anchors x numbers, height, width]

  ROBUSTA_HOST_DEVICE int64_t cells() const { return height * width; }
  /// Predictions count over items, then anchors, then cells.
  ROBUSTA_HOST_DEVICE int64_t predictions() const { return items * anchors * cells(); }
  ROBUSTA_HOST_DEVICE int64_t item_of(int64_t prediction) const { return prediction / cells() / anchors; }
  ROBUSTA_HOST_DEVICE int64_t anchor_of(int64_t prediction) const { return prediction / cells() % anchors; }
  ROBUSTA_HOST_DEVICE int64_t row_of(int64_t prediction) const { return prediction % cells() / width; }
  ROBUSTA_HOST_DEVICE int64_t column_of(int64_t prediction) const { return prediction % width; }
  /// Where a prediction's first number lies; the next ones lie cells() apart.
  ROBUSTA_HOST_DEVICE int64_t first_of(int64_t prediction) const {
    return prediction / cells() * numbers * cells() + prediction % cells();
  }
  /// Which number of its prediction element i of the bottom is.
  ROBUSTA_HOST_DEVICE int64_t number_of(int64_t i) const { return i / cells() % numbers; }

  /// The cell that a centre in 0..1 lies in, along an axis of so many.
  template <typename T>
  ROBUSTA_HOST_DEVICE static int64_t cell_at(T centre, int64_t extent) {
    const auto cell = static_cast<int64_t>(centre * static_cast<T>(extent));
    return cell < extent ? cell : extent - 1;
  }
};

/// The grid of a bottom. Throws Error{kConfig} unless it has `anchors` predictions of `numbers` in each cell.
inline AnchorGrid anchor_grid(const Shape& bottom, int index, int64_t anchors, int64_t numbers) {
  const int64_t channels = product_or_most(anchors, numbers);
  if (bottom.axes() != 4 || bottom[1] != channels || bottom.count() == 0) {
    throw Error(ErrorKind::kConfig, str("bottom ", index, " has shape ", bottom.str()),
                str("wanted are items, ", anchors, " anchors x ", numbers, " numbers = ", channels,
                    " channels, and the rows and columns of a grid: check the layer that makes it, and the numbers of ",
                    "anchors and classes"))
        .in_field("bottom");
  }
  return {.items = bottom[0], .anchors = anchors, .numbers = numbers, .height = bottom[2], .width = bottom[3]};
}

}  // namespace robusta
