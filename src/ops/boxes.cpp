// Suppression compares a box with those that stay and whose centres are near enough. With an overlap above t both are
// wider than t times the other: two boxes have no more in common than the narrower one is wide. So the centres are less
// than width x (1 + 1/t) / 2 apart, and the same holds for heights. Boxes that stay lie in the cells of a grid.

#include "ops/boxes.h"

#include <algorithm>
#include <array>

namespace robusta {
namespace host_detail {

void keep_best(std::vector<Scored>& scores, int64_t most) {
  const auto better = [](const Scored& a, const Scored& b) {
    return a.score > b.score || (a.score == b.score && a.index < b.index);
  };
  if (most >= 0 && most < static_cast<int64_t>(scores.size())) {
    std::nth_element(scores.begin(), scores.begin() + most, scores.end(), better);
    scores.resize(static_cast<size_t>(most));
  }
  std::sort(scores.begin(), scores.end(), better);
}

}  // namespace host_detail

namespace {

/// Boxes that stay. Those not finite are left out, as they overlap nothing.
class StayingBoxes {
 public:
  void add(const Box<float>& box) {
    if (!box.is_finite()) return;
    all_.push_back(box);
    cells_[cell_at(centre(box.xmin, box.xmax)) * kCells + cell_at(centre(box.ymin, box.ymax))].push_back(box);
  }

  bool overlap_more(const Box<float>& box, float threshold) const {
    if (!box.is_finite()) return false;
    const Range x = near(box.xmin, box.xmax, threshold), y = near(box.ymin, box.ymax, threshold);
    if ((x.end - x.begin) * (y.end - y.begin) >= all_.size()) return any_in(all_, box, threshold);
    for (size_t i = x.begin; i < x.end; ++i) {
      for (size_t j = y.begin; j < y.end; ++j) {
        if (any_in(cells_[i * kCells + j], box, threshold)) return true;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kCells = 32;  // along each axis
  struct Range {
    size_t begin, end;
  };

  static float centre(float low, float high) { return low / 2 + high / 2; }
  /// What lies outside of the image is counted to the cell at its edge.
  static size_t cell_at(float place) {
    const float cell = place * static_cast<float>(kCells);
    if (!(cell > 0)) return 0;
    return std::min(kCells - 1, static_cast<size_t>(std::min(cell, static_cast<float>(kCells))));
  }
  /// The cells of all centres that are near enough along one axis, with a little to spare for rounding.
  static Range near(float low, float high, float threshold) {
    if (!(threshold > 0)) return {0, kCells};
    const float middle = centre(low, high), reach = std::abs(high - low) * (0.501f + 0.501f / threshold) + 1e-6f;
    return {cell_at(middle - reach), cell_at(middle + reach) + 1};
  }
  static bool any_in(const std::vector<Box<float>>& others, const Box<float>& box, float threshold) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Box<float>& other) { return overlap(box, other) > threshold; });
  }

  std::vector<Box<float>> all_;
  std::array<std::vector<Box<float>>, kCells * kCells> cells_;
};

}  // namespace

std::vector<int64_t> suppress_overlaps(std::span<const Box<float>> boxes, float threshold, float eta) {
  std::vector<int64_t> stay;
  StayingBoxes staying;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (staying.overlap_more(boxes[i], threshold)) continue;
    staying.add(boxes[i]);
    stay.push_back(static_cast<int64_t>(i));
    if (eta < 1 && threshold > 0.5f) threshold *= eta;
  }
  return stay;
}

}  // namespace robusta
