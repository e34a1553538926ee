// Cell by cell, each with all boxes: there are some ten thousand of the one, and a few of the other.

#include "layers/types/image_gt_data/cell_labels.h"

#include <algorithm>
#include <cmath>

namespace robusta {
namespace {

/// Where a box overlaps a cell most, and whether it has one.
struct BoxUse {
  float most = 0;
  size_t map = 0;
  bool has_cell = false;
};

/// The area that both have in common, as a part of the field's.
float covered(const Box<float>& field, const Box<float>& box) {
  const float wide = std::min(field.xmax, box.xmax) - std::max(field.xmin, box.xmin);
  const float high = std::min(field.ymax, box.ymax) - std::max(field.ymin, box.ymin);
  return wide > 0 && high > 0 ? wide * high / field.area() : 0;
}

/// Cells begin ... end - 1 of one axis of a map, which show something of the image.
struct CellSpan {
  int64_t begin, end;
  CellSpan(int64_t from, int64_t length, float rate)
      : begin(std::lround(static_cast<float>(from) / rate)),
        end(begin + std::lround(static_cast<float>(length) / rate)) {}
  bool holds(int64_t cell) const { return cell >= begin && cell < end; }
};

class CellLabels {
 public:
  CellLabels(const PlacedImage& image, float threshold) : image_(image), threshold_(threshold) {
    uses_.resize(image.objects.size());
  }

  void write_map(const CellMap& map, size_t index, float* numbers) {
    const CellSpan rows(image_.top, image_.shown.height, map.rate), columns(image_.left, image_.shown.width, map.rate);
    for (int64_t y = 0; y < map.height; ++y) {
      for (int64_t x = 0; x < map.width; ++x) {
        float* cell = numbers + y * map.width + x;
        for (int64_t k = 0; k < CellMap::kNumbers; ++k) cell[k * map.cells()] = 0;
        const Box<float> field = field_of(map, y, x);
        if (!rows.holds(y) || !columns.holds(x) || is_unseen(field)) {
          cell[kOverlap * map.cells()] = 1;
        } else {
          write_cell(map, index, field, cell);
        }
      }
    }
  }

  void write_missed(std::span<const CellMap> maps, std::span<float* const> numbers) {
    constexpr float kLeast = 0.2f;
    for (size_t i = 0; i < uses_.size(); ++i) {
      const ImageObject& object = image_.objects[i];
      if (object.ignored || uses_[i].has_cell || uses_[i].most < kLeast) continue;
      const CellMap& map = maps[uses_[i].map];
      const auto place = [&](float begin, float end, int64_t cells) {
        return std::clamp<int64_t>(std::lround(std::floor((begin + end) / 2 / map.rate)), 0, cells - 1);
      };
      float* cell = numbers[uses_[i].map] + place(object.box.ymin, object.box.ymax, map.height) * map.width +
                    place(object.box.xmin, object.box.xmax, map.width);
      if (!(*cell > 0)) write_object(map, object, cell);
    }
  }

 private:
  static constexpr int64_t kOverlap = 5;

  static Box<float> field_of(const CellMap& map, int64_t y, int64_t x) {
    const float middle_x = (static_cast<float>(x) + 0.5f) * map.rate,
                middle_y = (static_cast<float>(y) + 0.5f) * map.rate;
    return {middle_x - map.field_w / 2, middle_y - map.field_h / 2, middle_x + map.field_w / 2,
            middle_y + map.field_h / 2};
  }

  bool is_unseen(const Box<float>& field) const {
    constexpr float kMost = 0.4f;
    float sum = 0;
    for (const Box<float>& box : image_.unseen) sum += covered(field, box);
    return sum >= kMost;
  }

  static void write_object(const CellMap& map, const ImageObject& object, float* cell) {
    const Box<float>& box = object.box;
    const float of_object[] = {object.ignored ? 0 : static_cast<float>(object.label), (box.xmin + box.xmax) / 2,
                               (box.ymin + box.ymax) / 2, box.width(), box.height()};
    for (int64_t k = 0; k < kOverlap; ++k) cell[k * map.cells()] = of_object[k];
  }

  void write_cell(const CellMap& map, size_t index, const Box<float>& field, float* cell) {
    float most = 0;
    size_t own = 0;
    for (size_t i = 0; i < uses_.size(); ++i) {
      const float common = overlap(image_.objects[i].box, field);
      if (common > most) most = common, own = i;
      if (common > uses_[i].most) uses_[i].most = common, uses_[i].map = index;
    }
    cell[kOverlap * map.cells()] = most;
    if (!(most > threshold_) || most == 0) return;
    write_object(map, image_.objects[own], cell);
    uses_[own].has_cell = true;
  }

  const PlacedImage& image_;
  float threshold_;
  std::vector<BoxUse> uses_;  // by box
};

}  // namespace

void write_cell_labels(const PlacedImage& image, std::span<const CellMap> maps, float fg_threshold,
                       std::span<float* const> numbers) {
  CellLabels labels(image, fg_threshold);
  for (size_t i = 0; i < maps.size(); ++i) labels.write_map(maps[i], i, numbers[i]);
  labels.write_missed(maps, numbers);
}

}  // namespace robusta
