// The tables of OpenCV's equalizeHist and CLAHE: what is counted, clipped and spread, and how it is rounded.
//
// CLAHE is Zuiderveld's (1994, "Contrast Limited Adaptive Histogram Equalization", Graphics Gems IV): each tile has a
// table of its own, made from a histogram whose peaks were cut off, and a pixel's value lies between those of the four
// tiles around it.

#include "data/transform/equaliser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/transform/color.h"

namespace robusta {
namespace {

using Histogram = std::array<int64_t, 256>;
using Table = std::array<uint8_t, 256>;

/// The grid of cv::createCLAHE, and the limit that SSD sets, as a multiple of the mean of a bin.
constexpr int64_t kTiles = 8, kClipLimit = 4;

/// An index beyond the upper end, mirrored there.
int64_t mirrored_above(int64_t at, int64_t size) {
  if (size == 1) return 0;
  const int64_t in_period = at % (2 * (size - 1));
  return std::min(in_period, 2 * (size - 1) - in_period);
}

/// Cuts off what is above the limit, and spreads it over all.
void clip(Histogram& histogram, int64_t pixels) {
  const int64_t limit = std::max<int64_t>(1, kClipLimit * pixels / 256);
  int64_t cut = 0;
  for (int64_t& bin : histogram) {
    cut += std::max<int64_t>(0, bin - limit);
    bin = std::min(bin, limit);
  }
  for (int64_t& bin : histogram) bin += cut / 256;
  // What is left of the division goes to bins at equal distances, as there.
  int64_t rest = cut % 256;
  const size_t step = static_cast<size_t>(std::max<int64_t>(1, rest > 0 ? 256 / rest : 1));
  for (size_t i = 0; i < histogram.size() && rest > 0; i += step, --rest) ++histogram[i];
}

/// The tables of all tiles. A plane that the tiles do not divide is mirrored beyond its lower and right edges.
class Tiles {
 public:
  Tiles(const uint8_t* plane, int64_t height, int64_t width) : plane_(plane), height_(height), width_(width) {
    const bool divides = height % kTiles == 0 && width % kTiles == 0;
    tile_height_ = (height + (divides ? 0 : kTiles - height % kTiles)) / kTiles;
    tile_width_ = (width + (divides ? 0 : kTiles - width % kTiles)) / kTiles;
    tables_.reserve(kTiles * kTiles);
    for (int64_t row = 0; row < kTiles; ++row) {
      for (int64_t column = 0; column < kTiles; ++column) tables_.push_back(table_of(row, column));
    }
  }

  uint8_t value(int64_t y, int64_t x, uint8_t p) const {
    const auto [upper, lower, down] = between(y, tile_height_);
    const auto [left, right, across] = between(x, tile_width_);
    const float above =
        static_cast<float>(at(upper, left)[p]) * (1 - across) + static_cast<float>(at(upper, right)[p]) * across;
    const float below =
        static_cast<float>(at(lower, left)[p]) * (1 - across) + static_cast<float>(at(lower, right)[p]) * across;
    return to_byte(above * (1 - down) + below * down);
  }

 private:
  struct Between {
    int64_t first, second;
    float part;  // of the second
  };

  /// The two tiles between whose middles a pixel lies; beyond the outermost middles, twice the same.
  static Between between(int64_t at, int64_t tile) {
    const float place = static_cast<float>(at) / static_cast<float>(tile) - 0.5f;
    const auto first = static_cast<int64_t>(std::floor(place));
    return {std::max<int64_t>(0, first), std::min<int64_t>(kTiles - 1, first + 1), place - static_cast<float>(first)};
  }

  const Table& at(int64_t row, int64_t column) const { return tables_[static_cast<size_t>(row * kTiles + column)]; }

  Table table_of(int64_t row, int64_t column) const {
    Histogram histogram{};
    for (int64_t y = row * tile_height_; y < (row + 1) * tile_height_; ++y) {
      const uint8_t* from = plane_ + mirrored_above(y, height_) * width_;
      for (int64_t x = column * tile_width_; x < (column + 1) * tile_width_; ++x)
        ++histogram[from[mirrored_above(x, width_)]];
    }
    const int64_t pixels = tile_height_ * tile_width_;
    clip(histogram, pixels);
    Table table;
    const float scale = 255.0f / static_cast<float>(pixels);
    int64_t sum = 0;
    for (size_t i = 0; i < table.size(); ++i) table[i] = to_byte(static_cast<float>(sum += histogram[i]) * scale);
    return table;
  }

  const uint8_t* plane_;
  int64_t height_, width_, tile_height_, tile_width_;  // pixels
  std::vector<Table> tables_;
};

}  // namespace

void equalise_plane(uint8_t* plane, int64_t count) {
  Histogram histogram{};
  for (int64_t i = 0; i < count; ++i) ++histogram[plane[i]];
  const auto darkest =
      static_cast<size_t>(std::ranges::find_if(histogram, [](int64_t bin) { return bin > 0; }) - histogram.begin());
  if (histogram[darkest] == count) return;  // one shade stays as it is
  const float scale = 255.0f / static_cast<float>(count - histogram[darkest]);
  Table table{};
  int64_t sum = 0;
  for (size_t i = darkest + 1; i < table.size(); ++i)
    table[i] = to_byte(static_cast<float>(sum += histogram[i]) * scale);
  for (int64_t i = 0; i < count; ++i) plane[i] = table[plane[i]];
}

void equalise_plane_by_tiles(uint8_t* plane, int64_t height, int64_t width, std::vector<uint8_t>& copy) {
  copy.assign(plane, plane + height * width);
  const Tiles tiles(copy.data(), height, width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x)
      plane[y * width + x] = tiles.value(y, x, copy[static_cast<size_t>(y * width + x)]);
  }
}

}  // namespace robusta
