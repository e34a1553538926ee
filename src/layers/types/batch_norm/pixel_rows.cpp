// Four pixels at a time where sums are made, so that a partial sum is loaded and stored once for four additions. The
// processor fetches ahead within a page by itself, but not far enough to keep the memory busy: hence the prefetches.

#include "layers/types/batch_norm/pixel_rows.h"

#include <algorithm>

#include "base/simd.h"
#include "base/stored_lanes.h"

namespace robusta::pixel_rows {
namespace {

constexpr int N = 16;         // lanes
constexpr int kTogether = 4;  // pixels

/// Of a row, in floats.
struct PartialSums {
  float first[kMostChannels], second[kMostChannels];
};

/// Elements from what is worked on to what is fetched: 4 KiB ahead, in whole rows.
int64_t ahead(const Rows& rows) { return (2048 + rows.channels - 1) / rows.channels * rows.next; }

/// A line of the cache holds 32 elements.
__attribute__((always_inline)) inline void fetch(const BFloat16* row, int64_t channel) {
  if (channel % 32 == 0) __builtin_prefetch(row + channel, 0, 2);
}

template <int kPixels>
__attribute__((always_inline)) inline void add_moments_of(const BFloat16* x, const Rows& rows, int64_t ahead,
                                                          const BFloat16* origin, PartialSums& sums) {
  for (int64_t c = 0; c < rows.channels; c += N) {
    Floats<N> start, a = {}, b = {};
    load<N>(origin + c, start);
#pragma GCC unroll 4
    for (int k = 0; k < kPixels; ++k) {
      fetch(x + k * rows.next + ahead, c);
      Floats<N> u;
      load<N>(x + k * rows.next + c, u);
      u -= start;
      a += u;
      b += u * u;
    }
    floats_at<N>(sums.first + c) = floats_at<N>(sums.first + c) + a;
    floats_at<N>(sums.second + c) = floats_at<N>(sums.second + c) + b;
  }
}

ROBUSTA_SIMD void moments_run(const BFloat16* x, const Rows& rows, int64_t ahead, const BFloat16* origin,
                              PartialSums& sums) {
  int64_t p = 0;
  for (; p + kTogether <= rows.pixels; p += kTogether) {
    add_moments_of<kTogether>(x + p * rows.next, rows, ahead, origin, sums);
  }
  for (; p < rows.pixels; ++p) add_moments_of<1>(x + p * rows.next, rows, ahead, origin, sums);
}

/// The gradient before the ReLU, whose argument is computed as normalise_rows does it: forward keeps no mask.
__attribute__((always_inline)) inline void mask(const Floats<N>& centred, const Affine& affine, int64_t c,
                                                const Floats<N>& dy, Floats<N>& g) {
  g = centred * floats_at<N>(affine.factor + c) + floats_at<N>(affine.shift + c) > 0 ? dy : dy * affine.slope;
}

template <int kPixels>
__attribute__((always_inline)) inline void add_gradients_of(const BFloat16* x, const BFloat16* dy, const Rows& rows,
                                                            int64_t ahead, const Affine& affine, PartialSums& sums) {
  for (int64_t c = 0; c < rows.channels; c += N) {
    Floats<N> a = {}, b = {};
#pragma GCC unroll 4
    for (int k = 0; k < kPixels; ++k) {
      const int64_t at = k * rows.next + c;
      fetch(x + k * rows.next + ahead, c);
      fetch(dy + k * rows.next + ahead, c);
      Floats<N> centred, above, g;
      load<N>(x + at, centred);
      load<N>(dy + at, above);
      centred -= floats_at<N>(affine.mean + c);
      mask(centred, affine, c, above, g);
      a += g;
      b += g * centred;
    }
    floats_at<N>(sums.first + c) = floats_at<N>(sums.first + c) + a;
    floats_at<N>(sums.second + c) = floats_at<N>(sums.second + c) + b;
  }
}

ROBUSTA_SIMD void gradients_run(const BFloat16* x, const BFloat16* dy, const Rows& rows, int64_t ahead,
                                const Affine& affine, PartialSums& sums) {
  int64_t p = 0;
  for (; p + kTogether <= rows.pixels; p += kTogether) {
    add_gradients_of<kTogether>(x + p * rows.next, dy + p * rows.next, rows, ahead, affine, sums);
  }
  for (; p < rows.pixels; ++p) add_gradients_of<1>(x + p * rows.next, dy + p * rows.next, rows, ahead, affine, sums);
}

ROBUSTA_SIMD void normalise_rows(const BFloat16* x, const Rows& rows, int64_t ahead, const Affine& affine,
                                 BFloat16* y) {
  for (int64_t p = 0; p < rows.pixels; ++p, x += rows.next, y += rows.next) {
    for (int64_t c = 0; c < rows.channels; c += N) {
      fetch(x + ahead, c);
      Floats<N> z;
      load<N>(x + c, z);
      z = (z - floats_at<N>(affine.mean + c)) * floats_at<N>(affine.factor + c) + floats_at<N>(affine.shift + c);
      store<N>(z > 0 ? z : z * affine.slope, y + c);
    }
  }
}

ROBUSTA_SIMD void normalise_joined_rows(const BFloat16* x, const BFloat16* other, const Rows& rows, int64_t ahead,
                                        const Affine& affine, BFloat16* y) {
  for (int64_t p = 0; p < rows.pixels; ++p, x += rows.next, other += rows.next, y += rows.next) {
    for (int64_t c = 0; c < rows.channels; c += N) {
      fetch(x + ahead, c);
      fetch(other + ahead, c);
      Floats<N> z, added;
      load<N>(x + c, z);
      load<N>(other + c, added);
      z = (z - floats_at<N>(affine.mean + c)) * floats_at<N>(affine.factor + c) + floats_at<N>(affine.shift + c);
      z += added;
      store<N>(z > 0 ? z : z * affine.slope, y + c);
    }
  }
}

/// What is summed is what is stored: rounded.
ROBUSTA_SIMD void joined_gradients_run(const BFloat16* x, const JoinedGradients& gradients, const Rows& rows,
                                       int64_t ahead, const Affine& affine, PartialSums& sums) {
  const BFloat16 *more = gradients.more, *result = gradients.y;
  for (int64_t p = 0; p < rows.pixels; ++p) {
    for (int64_t c = 0; c < rows.channels; c += N) {
      const int64_t at = p * rows.next + c;
      fetch(x + at - c + ahead, c);
      fetch(gradients.dy + at - c + ahead, c);
      Floats<N> centred, g;
      load<N>(x + at, centred);
      load<N>(gradients.dy + at, g);
      if (more) {
        fetch(more + at - c + ahead, c);
        Floats<N> term;
        load<N>(more + at, term);
        g += term;
      }
      if (result) {
        fetch(result + at - c + ahead, c);
        Floats<N> y;
        load<N>(result + at, y);
        g = y > 0 ? g : g * affine.slope;
      }
      store<N>(g, gradients.g + at);
      load<N>(gradients.g + at, g);
      centred -= floats_at<N>(affine.mean + c);
      floats_at<N>(sums.first + c) = floats_at<N>(sums.first + c) + g;
      floats_at<N>(sums.second + c) = floats_at<N>(sums.second + c) + g * centred;
    }
  }
}

ROBUSTA_SIMD void propagate_rows(const BFloat16* x, const BFloat16* dy, const Rows& rows, int64_t ahead,
                                 const Affine& affine, const float* constant, const float* linear, BFloat16* dx) {
  for (int64_t p = 0; p < rows.pixels; ++p, x += rows.next, dy += rows.next, dx += rows.next) {
    for (int64_t c = 0; c < rows.channels; c += N) {
      fetch(x + ahead, c);
      fetch(dy + ahead, c);
      Floats<N> centred, above, g;
      load<N>(x + c, centred);
      load<N>(dy + c, above);
      centred -= floats_at<N>(affine.mean + c);
      mask(centred, affine, c, above, g);
      const Floats<N> down = floats_at<N>(affine.factor + c) * g - floats_at<N>(constant + c);
      store<N>(down - centred * floats_at<N>(linear + c), dx + c);
    }
  }
}

/// add(at, some, sums) over runs of pixels, `at` being where `some` begin.
template <typename Add>
void add_in_runs(const Rows& rows, double* first, double* second, const Add& add) {
  for (int64_t p = 0; p < rows.pixels; p += channel_blocks::kRun) {
    PartialSums sums;
    std::fill_n(sums.first, rows.channels, 0.0f);
    std::fill_n(sums.second, rows.channels, 0.0f);
    add(p * rows.next, Rows{std::min(channel_blocks::kRun, rows.pixels - p), rows.next, rows.channels}, sums);
    for (int64_t c = 0; c < rows.channels; ++c) first[c] += sums.first[c];
    for (int64_t c = 0; c < rows.channels; ++c) second[c] += sums.second[c];
  }
}

}  // namespace

void add_moments(const BFloat16* x, const Rows& rows, const BFloat16* origin, double* first, double* second) {
  add_in_runs(rows, first, second, [&](int64_t at, const Rows& some, PartialSums& sums) {
    moments_run(x + at, some, ahead(rows), origin, sums);
  });
}

void normalise(const BFloat16* x, const Rows& rows, const Affine& affine, BFloat16* y) {
  normalise_rows(x, rows, ahead(rows), affine, y);
}

void add_gradient_sums(const BFloat16* x, const BFloat16* dy, const Rows& rows, const Affine& affine, double* first,
                       double* second) {
  add_in_runs(rows, first, second, [&](int64_t at, const Rows& some, PartialSums& sums) {
    gradients_run(x + at, dy + at, some, ahead(rows), affine, sums);
  });
}

void normalise_joined(const BFloat16* x, const BFloat16* other, const Rows& rows, const Affine& affine, BFloat16* y) {
  normalise_joined_rows(x, other, rows, ahead(rows), affine, y);
}

void add_joined_sums(const BFloat16* x, const JoinedGradients& gradients, const Rows& rows, const Affine& affine,
                     double* first, double* second) {
  add_in_runs(rows, first, second, [&](int64_t at, const Rows& some, PartialSums& sums) {
    joined_gradients_run(x + at, gradients.from(at), some, ahead(rows), affine, sums);
  });
}

void propagate(const BFloat16* x, const BFloat16* dy, const Rows& rows, const Affine& affine, const float* constant,
               const float* linear, BFloat16* dx) {
  propagate_rows(x, dy, rows, ahead(rows), affine, constant, linear, dx);
}

}  // namespace robusta::pixel_rows
