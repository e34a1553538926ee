// Strided copies at the rate of memory: planes of two axes, of which one follows the destination's memory and the other
// the source's, wherever there are such.
//
// A plane whose two axes differ is the transpose of a matrix. It goes by blocks that stay in the cache, and within
// these by squares of eight: the bits of an element's row and column are rotated by one place three times, each time by
// interleaving the vectors of both halves (Stone 1971, "Parallel Processing with the Perfect Shuffle").

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/simd.h"
#include "base/vector_types.h"
#include "layers/kit/gather.h"

namespace robusta {
namespace {

constexpr int64_t kSquare = 8, kGatherBlock = 128, kGatherGrain = 1 << 14;  // elements

/// The elements of two vectors by turns: of their first halves, and of their second ones.
__attribute__((always_inline)) inline void interleave(const Floats<8>& a, const Floats<8>& b, Floats<8>& low,
                                                      Floats<8>& high) {
#ifdef __clang__
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  low = __builtin_shuffle(a, b, Ints<8>{0, 8, 1, 9, 2, 10, 3, 11});
  high = __builtin_shuffle(a, b, Ints<8>{4, 12, 5, 13, 6, 14, 7, 15});
#endif
}

/// to[u * to_step + l] = from[l * from_step + u] for u < rows, l < columns.
ROBUSTA_SIMD void transpose_block(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t rows,
                                  int64_t columns) {
  const int64_t whole_rows = rows / kSquare * kSquare, whole_columns = columns / kSquare * kSquare;
  for (int64_t u = 0; u < whole_rows; u += kSquare) {
    for (int64_t l = 0; l < whole_columns; l += kSquare) {
      Floats<8> square[kSquare], half[kSquare];
      for (int64_t i = 0; i < kSquare; ++i) square[i] = floats_at<8>(from + (l + i) * from_step + u);
      for (int round = 0; round < 3; ++round) {
        for (int64_t i = 0; i < kSquare; ++i) half[i] = square[i];
        for (int64_t i = 0; i < kSquare / 2; ++i) {
          interleave(half[i], half[i + kSquare / 2], square[2 * i], square[2 * i + 1]);
        }
      }
      for (int64_t i = 0; i < kSquare; ++i) floats_at<8>(to + (u + i) * to_step + l) = square[i];
    }
    for (int64_t l = whole_columns; l < columns; ++l) {
      for (int64_t i = u; i < u + kSquare; ++i) to[i * to_step + l] = from[l * from_step + i];
    }
  }
  for (int64_t u = whole_rows; u < rows; ++u) {
    for (int64_t l = 0; l < columns; ++l) to[u * to_step + l] = from[l * from_step + u];
  }
}

/// One row of the last axis, of `seen` elements.
ROBUSTA_SIMD void gather_row(const Gather& g, const float* from, float* to, int64_t seen) {
  const int64_t stride = g.axes.back().stride;
  if (stride == 1) {
    std::copy_n(from, seen, to);
    for (int64_t k = 1; k < g.terms; ++k) {
      const float* term = from + k * g.term_stride;
      for (int64_t c = 0; c < seen; ++c) to[c] += term[c];
    }
    return;
  }
  for (int64_t c = 0; c < seen; ++c) {
    float sum = from[c * stride];
    for (int64_t k = 1; k < g.terms; ++k) sum += from[c * stride + k * g.term_stride];
    to[c] = sum;
  }
}

/// The last axis of the destination, another one, and all others around them.
class Planes {
 public:
  explicit Planes(const Gather& gather) : g_(gather), last_(gather.axes.back()) {
    const auto axes = static_cast<int64_t>(g_.axes.size());
    for (int64_t a = axes - 1; a-- > 0;) {
      const bool unit = g_.axes[static_cast<size_t>(a)].stride == 1;
      if (other_at_ < 0 || (unit && last_.stride != 1)) other_at_ = a;
    }
    if (other_at_ >= 0) other_ = g_.axes[static_cast<size_t>(other_at_)];
    other_step_ = last_.extent;
    for (int64_t a = axes - 1; a-- > other_at_ + 1;) other_step_ *= g_.axes[static_cast<size_t>(a)].extent;
    transposes_ = g_.terms == 1 && last_.stride != 1 && other_.stride == 1 && is_whole(last_) && is_whole(other_);
    if (!transposes_) row_block_ = std::clamp<int64_t>(kGatherGrain / last_.extent, 1, kGatherBlock);
  }

  void run(const float* from, float* to) const {
    const int64_t rows = blocks(other_.extent, row_block_),
                  columns = transposes_ ? blocks(last_.extent, kGatherBlock) : 1;
    const int64_t planes = g_.count() / std::max<int64_t>(last_.extent * other_.extent, 1);
    const int64_t each = std::max<int64_t>(g_.count() * g_.terms / std::max<int64_t>(planes * rows * columns, 1), 1);
    parallel_for(planes * rows * columns, 1 + kGatherGrain / each, [&](int64_t i) {
      const int64_t column = i % columns * kGatherBlock, row = i / columns % rows * row_block_;
      const Place place = place_of(i / columns / rows);
      if (transposes_ && place.sees) return transpose_at(from + place.from, to + place.to, row, column);
      if (column == 0) copy_rows(place, from, to, row);
    });
  }

 private:
  /// Of a plane: where it begins in source and destination, and whether it sees anything of the source.
  struct Place {
    int64_t from, to;
    bool sees;
  };

  static bool is_whole(const GatherAxis& axis) { return axis.before == 0 && axis.after == 0; }
  static int64_t blocks(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

  Place place_of(int64_t plane) const {
    Place place{g_.base, 0, true};
    int64_t step = last_.extent;
    for (auto a = static_cast<int64_t>(g_.axes.size()) - 1; a-- > 0;) {
      const GatherAxis& axis = g_.axes[static_cast<size_t>(a)];
      if (a != other_at_) {
        const int64_t c = plane % axis.extent;
        plane /= axis.extent;
        place.to += c * step;
        place.from += (c - axis.before) * axis.stride;
        place.sees = place.sees && c >= axis.before && c < axis.extent - axis.after;
      }
      step *= axis.extent;
    }
    return place;
  }

  void transpose_at(const float* from, float* to, int64_t row, int64_t column) const {
    transpose_block(from + column * last_.stride + row, last_.stride, to + row * other_step_ + column, other_step_,
                    std::min(kGatherBlock, other_.extent - row), std::min(kGatherBlock, last_.extent - column));
  }

  void copy_rows(const Place& place, const float* from, float* to, int64_t first) const {
    const int64_t end = std::min(first + row_block_, other_.extent), seen = last_.seen();
    for (int64_t row = first; row < end; ++row) {
      float* out = to + place.to + row * other_step_;
      if (!place.sees || row < other_.before || row >= other_.extent - other_.after) {
        std::fill_n(out, last_.extent, g_.fill);
        continue;
      }
      std::fill_n(out, last_.before, g_.fill);
      gather_row(g_, from + place.from + (row - other_.before) * other_.stride, out + last_.before, seen);
      std::fill_n(out + last_.extent - last_.after, last_.after, g_.fill);
    }
  }

  const Gather& g_;
  const GatherAxis& last_;
  int64_t other_at_ = -1;  ///< among the axes; -1: there is only one
  GatherAxis other_ = {};
  int64_t other_step_ = 0;  ///< in the destination
  bool transposes_ = false;
  int64_t row_block_ = kGatherBlock;  ///< rows copied by one thread in a row: a grain of elements where rows are long
};

}  // namespace

void run_gather_fast(const Gather& gather, const float* from, float* to) { Planes(gather).run(from, to); }

}  // namespace robusta
