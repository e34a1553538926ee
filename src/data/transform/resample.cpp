// Each kind is a list of weights per output row and column; rows and columns are mixed one after the other.
//
// Places are those of OpenCV's resize: with scale = from / to, output pixel i lies at (i + 0.5) scale - 0.5 of the
// input, but for the nearest, which is floor(i scale), and for areas, which cover i scale .. (i + 1) scale.

#include "data/transform/resample.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "data/transform/color.h"

namespace robusta {
namespace {

/// An output pixel mixes the inputs first, first + 1, ... with these weights; inputs beyond an edge are those at it.
struct Reach {
  int64_t first = 0;
  std::vector<float> weights;
};
using Taps = std::vector<Reach>;

/// Keys' kernel for the pixels at -1, 0, 1 and 2 around a place 0 <= t < 1. (1981, "Cubic convolution interpolation for
/// digital image processing"; a = -0.75 as in OpenCV.) The last weight is what the others leave of 1.
std::vector<float> cubic_weights(float t) {
  constexpr float a = -0.75f;
  const auto near = [=](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [=](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const float before = far(t + 1), at = near(t), after = near(1 - t);
  return {before, at, after, 1 - before - at - after};
}

/// sinc(x) sinc(x / 4) for the pixels at -3 .. 4, made to add up to 1.
std::vector<float> lanczos_weights(float t) {
  if (t < 1e-6f) return {0, 0, 0, 1, 0, 0, 0, 0};
  std::vector<double> weights;
  double sum = 0;
  for (int i = -3; i <= 4; ++i) {
    const double x = (static_cast<double>(t) - i) * std::numbers::pi;
    weights.push_back(std::sin(x) * std::sin(x / 4) / (x * x));
    sum += weights.back();
  }
  std::vector<float> scaled;
  for (const double weight : weights) scaled.push_back(static_cast<float>(weight / sum));
  return scaled;
}

/// What an output pixel covers of each input.
Reach covered(int64_t i, int64_t from, double scale) {
  const double begin = static_cast<double>(i) * scale, end = std::min(begin + scale, static_cast<double>(from));
  Reach tap{static_cast<int64_t>(begin), {}};
  for (int64_t at = tap.first; static_cast<double>(at) < end && at < from; ++at) {
    const double part = std::min(end, static_cast<double>(at + 1)) - std::max(begin, static_cast<double>(at));
    if (part > 1e-3 || tap.weights.empty()) tap.weights.push_back(static_cast<float>(part / (end - begin)));
  }
  return tap;
}

/// Made larger by area: an output pixel is one input, or lies across the seam of two.
Reach across_seam(int64_t i, int64_t from, int64_t to) {
  const auto first = i * from / to;
  const auto part =
      static_cast<float>((static_cast<double>(i + 1)) -
                         static_cast<double>(first + 1) * static_cast<double>(to) / static_cast<double>(from));
  if (part <= 0) return {first, {1}};
  const float after = part - std::floor(part);
  return {first, {1 - after, after}};
}

Taps make_taps(Interpolation interpolation, int64_t from, int64_t to, bool shrinks) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  Taps taps;
  taps.reserve(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    if (interpolation == Interpolation::kNearest) {
      taps.push_back({std::min(static_cast<int64_t>(static_cast<double>(i) * scale), from - 1), {1}});
    } else if (interpolation == Interpolation::kArea) {
      taps.push_back(shrinks ? covered(i, from, scale) : across_seam(i, from, to));
    } else {
      const auto at = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
      const float floor = std::floor(at);
      const bool cubic = interpolation == Interpolation::kCubic;
      taps.push_back({static_cast<int64_t>(floor) - (cubic ? 1 : 3),
                      cubic ? cubic_weights(at - floor) : lanczos_weights(at - floor)});
    }
  }
  return taps;
}

/// Input rows, mixed by columns once they are needed, and kept as long as output rows that follow may need them.
class MixedRows {
 public:
  MixedRows(const uint8_t* plane, const Extent& extent, const Taps& columns, size_t kept)
      : plane_(plane),
        extent_(extent),
        columns_(columns),
        rows_(kept, std::vector<float>(columns.size())),
        held_(kept, -1) {}

  const float* row(int64_t y) {
    y = std::clamp<int64_t>(y, 0, extent_.height - 1);
    // Rows are asked for in order, and no output row reaches over more than there are slots.
    const auto slot = static_cast<size_t>(y) % rows_.size();
    if (held_[slot] != y) mix(y, rows_[slot]);
    held_[slot] = y;
    return rows_[slot].data();
  }

 private:
  void mix(int64_t y, std::vector<float>& out) const {
    const uint8_t* from = plane_ + y * extent_.width;
    for (size_t x = 0; x < columns_.size(); ++x) {
      const Reach& tap = columns_[x];
      float sum = 0;
      for (size_t k = 0; k < tap.weights.size(); ++k) {
        const int64_t at = std::clamp<int64_t>(tap.first + static_cast<int64_t>(k), 0, extent_.width - 1);
        sum += tap.weights[k] * from[at];
      }
      out[x] = sum;
    }
  }

  const uint8_t* plane_;
  Extent extent_;
  const Taps& columns_;
  std::vector<std::vector<float>> rows_;  // a ring: input row y lies in slot y % size
  std::vector<int64_t> held_;             // the input row in each slot; -1: none
};

void mix(const Pixels& from, const Taps& rows, const Taps& columns, Image& to) {
  size_t most = 1;
  for (const Reach& tap : rows) most = std::max(most, tap.weights.size());
  std::vector<float> sums(columns.size());
  for (int64_t c = 0; c < from.extent.channels; ++c) {
    MixedRows mixed(from.bytes + c * from.extent.height * from.extent.width, from.extent, columns, most);
    for (size_t y = 0; y < rows.size(); ++y) {
      std::ranges::fill(sums, 0.0f);
      for (size_t k = 0; k < rows[y].weights.size(); ++k) {
        const float* row = mixed.row(rows[y].first + static_cast<int64_t>(k));
        const float weight = rows[y].weights[k];
        for (size_t x = 0; x < sums.size(); ++x) sums[x] += weight * row[x];
      }
      std::ranges::transform(sums, to.row(c, static_cast<int64_t>(y)), to_byte);
    }
  }
}

}  // namespace

void resize_image(const Pixels& from, int64_t height, int64_t width, Interpolation interpolation, Image& to) {
  assert(height > 0 && width > 0 && from.bytes);
  if (interpolation == Interpolation::kLinear) return resize_bilinear(from, height, width, to);
  to.reset({from.extent.channels, height, width});
  if (to.extent == from.extent) {
    std::copy_n(from.bytes, from.extent.count(), to.planes.data());
    return;
  }
  const bool shrinks = height <= from.extent.height && width <= from.extent.width;
  mix(from, make_taps(interpolation, from.extent.height, height, shrinks),
      make_taps(interpolation, from.extent.width, width, shrinks), to);
}

}  // namespace robusta
