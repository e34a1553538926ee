// Ground truth is input that nobody vouches for: every row is checked before anything is computed from it.

#include "layers/kit/true_boxes.h"

#include <limits>

#include "base/str.h"
#include "layers/kit/labels.h"

namespace robusta {
namespace {

Error bad_row(size_t row, int bottom, const std::string& what) {
  return Error(
      ErrorKind::kData, str("row ", row, " of bottom ", bottom, " ", what),
      "a row of the ground truth is item, class, number of the box, xmin, ymin, xmax, ymax, difficult: correct "
      "the data, or num_classes and background_label_id");
}

}  // namespace

int64_t true_box_rows(const Shape& shape, int bottom) {
  const int64_t rows = shape.count() / kTrueBoxNumbers;
  const bool fits = shape.axes() > 1 && shape[shape.axes() - 1] == kTrueBoxNumbers;
  if (fits && rows <= std::numeric_limits<int32_t>::max()) return rows;
  throw Error(
      ErrorKind::kConfig,
      str("bottom ", bottom, " has shape ", shape.str(), ", but rows of ", kTrueBoxNumbers, " numbers are wanted"),
      "it is the ground truth: item, class, number of the box, xmin, ymin, xmax, ymax, difficult")
      .in_field("bottom");
}

std::vector<TrueBox> read_true_boxes(std::span<const float> numbers, const TrueBoxLimits& limits, int bottom) {
  std::vector<TrueBox> boxes;
  for (size_t row = 0; row < numbers.size() / kTrueBoxNumbers; ++row) {
    const float* n = numbers.data() + row * kTrueBoxNumbers;
    const int item = to_label(n[0]), label = to_label(n[1]);
    if (item == -1) continue;
    if (item < 0 || item >= limits.items) {
      throw bad_row(row, bottom, str("is of item ", n[0], ", but items are 0..", limits.items - 1));
    }
    if (label < 0 || label >= limits.classes) {
      throw bad_row(row, bottom, str("is of class ", n[1], ", but classes are 0..", limits.classes - 1));
    }
    if (label == limits.background) throw bad_row(row, bottom, str("is of class ", label, ", which is the background"));
    const auto box = Box<float>::at(n + 3);
    if (!box.is_finite()) throw bad_row(row, bottom, str("has the corners ", n[3], " ", n[4], " ", n[5], " ", n[6]));
    boxes.push_back({static_cast<int32_t>(row), item, label, n[7] != 0, box});
  }
  return boxes;
}

}  // namespace robusta
