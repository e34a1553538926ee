// Suppression compares a box with those that stay, are of about its size, and lie near it. With an overlap above t both
// are wider than t times the other, since two boxes have no more in common than the narrower one is wide; so their
// centres are less than half of both widths apart, and the same holds for heights. Boxes that stay are kept by the
// powers of two of their extents, each kind in a grid as fine as these: a cell holds few, as they overlap each other
// little, wherever all boxes lie.

#include "ops/boxes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

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

/// Boxes that stay. Those that overlap nothing, as they are empty or not finite, are left out.
class StayingBoxes {
 public:
  void add(const Box<float>& box) {
    if (!box.is_finite() || !(box.width() > 0 && box.height() > 0)) return;
    all_.push_back(box);
    if (all_.size() == kFew) {
      for (const Box<float>& one : all_) file(one);
    } else if (all_.size() > kFew) {
      file(box);
    }
  }

  bool overlap_more(const Box<float>& box, float threshold) const {
    if (threshold < 0) return !all_.empty();
    if (all_.size() < kFew) return any_in(all_, box, threshold);
    if (!box.is_finite() || !(box.width() > 0 && box.height() > 0)) return false;
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& one) {
      const auto& [powers, kind] = one;
      return may_overlap(powers.first, extent(box.xmin, box.xmax), threshold) &&
             may_overlap(powers.second, extent(box.ymin, box.ymax), threshold) &&
             overlaps_in(powers, kind, box, threshold);
    });
  }

 private:
  static constexpr size_t kFew = 512;  // comparing with all of them takes less time than looking in cells
  using Powers = std::pair<int, int>;  // of width and height: 2^power is at most the extent, twice that is more
  struct Kind {
    std::vector<Box<float>> all;
    std::unordered_map<uint64_t, std::vector<Box<float>>> cells;
  };
  struct Range {
    int64_t begin, end;
    int64_t length() const { return end - begin; }
  };

  static double extent(float low, float high) { return static_cast<double>(high) - static_cast<double>(low); }
  static double centre(float low, float high) { return (static_cast<double>(low) + static_cast<double>(high)) / 2; }
  /// In whole cells of 2^power. What lies far away shares the outermost ones.
  static int64_t cell_at(double place, int power) {
    constexpr double kFarthest = 1 << 30;
    return static_cast<int64_t>(std::floor(std::clamp(std::ldexp(place, -power), -kFarthest, kFarthest)));
  }
  static uint64_t key_of(int64_t x, int64_t y) {
    return static_cast<uint64_t>(static_cast<uint32_t>(x)) << 32 | static_cast<uint32_t>(y);
  }

  void file(const Box<float>& box) {
    const Powers powers{std::ilogb(extent(box.xmin, box.xmax)), std::ilogb(extent(box.ymin, box.ymax))};
    Kind& kind = kinds_[powers];
    kind.all.push_back(box);
    kind.cells[key_of(cell_at(centre(box.xmin, box.xmax), powers.first),
                      cell_at(centre(box.ymin, box.ymax), powers.second))]
        .push_back(box);
  }

  /// Whether extents of 2^power to twice that are near enough to this one; with a little to spare for rounding.
  static bool may_overlap(int power, double extent, float threshold) {
    const double least = std::ldexp(1.0, power), most = 2 * least, t = static_cast<double>(threshold) * 0.999;
    return most >= t * extent && extent >= t * least;
  }
  /// The cells of all centres that are.
  static Range near(float low, float high, int power) {
    const double reach = 0.5005 * (extent(low, high) + std::ldexp(2.0, power));
    return {cell_at(centre(low, high) - reach, power), cell_at(centre(low, high) + reach, power) + 1};
  }

  static bool overlaps_in(const Powers& powers, const Kind& kind, const Box<float>& box, float threshold) {
    const Range x = near(box.xmin, box.xmax, powers.first), y = near(box.ymin, box.ymax, powers.second);
    const auto cells = static_cast<double>(x.length()) * static_cast<double>(y.length());
    if (cells >= static_cast<double>(kind.all.size())) return any_in(kind.all, box, threshold);
    for (int64_t i = x.begin; i < x.end; ++i) {
      for (int64_t j = y.begin; j < y.end; ++j) {
        const auto cell = kind.cells.find(key_of(i, j));
        if (cell != kind.cells.end() && any_in(cell->second, box, threshold)) return true;
      }
    }
    return false;
  }
  static bool any_in(const std::vector<Box<float>>& others, const Box<float>& box, float threshold) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Box<float>& other) { return overlap(box, other) > threshold; });
  }

  std::vector<Box<float>> all_;
  std::map<Powers, Kind> kinds_;  // of all, once these are many
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
