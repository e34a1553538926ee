// MAX pooling of a row: forward keeps one byte per output, the tap that was largest, and backward reads no pixels.

#include <cfloat>
#include <cstring>

#include "base/simd.h"
#include "base/stored_lanes.h"
#include "layers/types/pooling/native_lanes.h"
#include "layers/types/pooling/native_rows.h"

namespace robusta {
namespace {

/// The taps of N lanes as N bytes. Bytes of one lane each would be widened lane by lane; so lanes 0..3 are the lowest
/// bytes of the four words, lanes 4..7 the next ones, and so on: shifts and masks. (Vectors go by reference, because
/// how they are passed depends on the instruction set.)
template <int N>
struct TapBytes;

template <>
struct TapBytes<16> {
  typedef int32_t Words4 __attribute__((vector_size(16), aligned(1), may_alias));
  typedef int32_t Words8 __attribute__((vector_size(32)));
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<16>& taps) {
    const Words4 four = *reinterpret_cast<const Words4*>(from);
    // In two steps: for one step GCC 12 stores the vector and loads it again.
    const Words8 eight = __builtin_shufflevector(four, four, 0, 1, 2, 3, 4, 5, 6, 7);
    taps = __builtin_shufflevector(eight, eight, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    taps = (taps >> Ints<16>{0, 0, 0, 0, 8, 8, 8, 8, 16, 16, 16, 16, 24, 24, 24, 24}) & 255;
  }
  __attribute__((always_inline)) static void store(const Ints<16>& taps, uint8_t* to) {
    *reinterpret_cast<Words4*>(to) = __builtin_shufflevector(taps, taps, 0, 1, 2, 3) |
                                     __builtin_shufflevector(taps, taps, 4, 5, 6, 7) << 8 |
                                     __builtin_shufflevector(taps, taps, 8, 9, 10, 11) << 16 |
                                     __builtin_shufflevector(taps, taps, 12, 13, 14, 15) << 24;
  }
};

/// The same with halves of words.
template <>
struct TapBytes<8> {
  typedef uint16_t Halves4 __attribute__((vector_size(8)));
  typedef int32_t Words4 __attribute__((vector_size(16)));
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<8>& taps) {
    Halves4 halves;
    std::memcpy(&halves, from, sizeof halves);
    const Words4 four = __builtin_convertvector(halves, Words4);
    taps = __builtin_shufflevector(four, four, 0, 1, 2, 3, 4, 5, 6, 7);
    taps = (taps >> Ints<8>{0, 0, 0, 0, 8, 8, 8, 8}) & 255;
  }
  __attribute__((always_inline)) static void store(const Ints<8>& taps, uint8_t* to) {
    const Words4 four =
        __builtin_shufflevector(taps, taps, 0, 1, 2, 3) | __builtin_shufflevector(taps, taps, 4, 5, 6, 7) << 8;
    const Halves4 halves = __builtin_convertvector(four, Halves4);
    std::memcpy(to, &halves, sizeof halves);
  }
};

template <>
struct TapBytes<4> {
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<4>& taps) {
    taps = Ints<4>{from[0], from[1], from[2], from[3]};
  }
  __attribute__((always_inline)) static void store(const Ints<4>& taps, uint8_t* to) {
    for (int lane = 0; lane < 4; ++lane) to[lane] = static_cast<uint8_t>(taps[lane]);
  }
};

template <>
struct TapBytes<1> {
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<1>& taps) { taps = Ints<1>{*from}; }
  __attribute__((always_inline)) static void store(const Ints<1>& taps, uint8_t* to) {
    *to = static_cast<uint8_t>(taps[0]);
  }
};

/// N lanes of one row of outputs. `x`: the image; `y`, `taps`: the row.
template <int N, typename Stored>
ROBUSTA_SIMD void max_lanes(const PoolLines& lines, int64_t row, const Stored* x, Stored* y, uint8_t* taps) {
  const PoolLine::Range rows = lines.rows.inputs[static_cast<size_t>(row)];
  const PoolLine::Range* inputs = lines.columns.inputs.data();
  const int64_t row_step = lines.rows.window.dilation, column_step = lines.columns.window.dilation;
  const int64_t width = lines.columns.window.in, inner = lines.inner, kernel = lines.columns.window.kernel;
  for (int64_t o = 0; o < lines.columns.window.out; ++o) {
    const PoolLine::Range columns = inputs[o];
    Floats<N> best = Floats<N>{} - FLT_MAX;
    Ints<N> best_tap = Ints<N>{} + kNoPoolTap;
    int64_t row_tap = rows.tap * kernel + columns.tap;
    for (int64_t i = rows.begin; i < rows.end; i += row_step, row_tap += kernel) {
      int64_t number = row_tap;
      for (int64_t j = columns.begin; j < columns.end; j += column_step, ++number) {
        Floats<N> value;
        load<N>(x + (i * width + j) * inner, value);
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>(number);
        best_tap = value > best ? tap : best_tap;
        best = value > best ? value : best;
      }
    }
    store<N>(best, y + o * inner);
    TapBytes<N>::store(best_tap, taps + o * inner);
  }
}

/// best = the larger of best and the pixel at `from`.
template <int N, typename Stored>
__attribute__((always_inline)) inline void raise_to(const Stored* from, Floats<N>& best) {
  Floats<N> value;
  load<N>(from, value);
  best = value > best ? value : best;
}

/// The same as max_lanes, where nobody asks which pixel it was: for nets that only run forward. Three columns at a
/// time, the width of most windows.
template <int N, typename Stored>
ROBUSTA_SIMD void largest_lanes(const PoolLines& lines, int64_t row, const Stored* x, Stored* y) {
  const PoolLine::Range rows = lines.rows.inputs[static_cast<size_t>(row)];
  const PoolLine::Range* inputs = lines.columns.inputs.data();
  const int64_t row_step = lines.rows.window.dilation * lines.columns.window.in * lines.inner;
  const int64_t inner = lines.inner, step = lines.columns.window.dilation * inner;
  const Stored* first = x + rows.begin * lines.columns.window.in * inner;
  const Stored* last = x + rows.end * lines.columns.window.in * inner;
  for (int64_t o = 0; o < lines.columns.window.out; ++o) {
    const int64_t begin = inputs[o].begin * inner, end = inputs[o].end * inner;
    Floats<N> best = Floats<N>{} - FLT_MAX;
    for (const Stored* line = first; line < last; line += row_step) {
      int64_t at = begin;
      for (; at + 2 * step < end; at += 3 * step) {
        raise_to<N>(line + at, best);
        raise_to<N>(line + at + step, best);
        raise_to<N>(line + at + 2 * step, best);
      }
      for (; at < end; at += step) raise_to<N>(line + at, best);
    }
    store<N>(best, y + o * inner);
  }
}

/// N lanes of one row of the bottom's gradient.
template <int N, typename Stored>
ROBUSTA_SIMD void max_lanes_gradient(const PoolLines& lines, int64_t row, const Stored* dy, const uint8_t* taps,
                                     Stored* dx) {
  const PoolLine::Range rows = lines.rows.outputs[static_cast<size_t>(row)];
  const PoolLine::Range* outputs = lines.columns.outputs.data();
  const int64_t row_step = lines.rows.output_step, column_step = lines.columns.output_step;
  const int64_t width = lines.columns.window.out, inner = lines.inner, kernel = lines.columns.window.kernel;
  for (int64_t i = 0; i < lines.columns.window.in; ++i) {
    const PoolLine::Range columns = outputs[i];
    Floats<N> sum = {};
    int64_t row_tap = rows.tap * kernel + columns.tap;
    for (int64_t r = rows.begin; r < rows.end; r += row_step, row_tap -= lines.rows.tap_step * kernel) {
      int64_t number = row_tap;
      for (int64_t c = columns.begin; c < columns.end; c += column_step, number -= lines.columns.tap_step) {
        const int64_t at = (r * width + c) * inner;
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>(number);
        Ints<N> chosen;
        TapBytes<N>::load(taps + at, chosen);
        Floats<N> gradient;
        load<N>(dy + at, gradient);
        sum += chosen == tap ? gradient : Floats<N>{};
      }
    }
    store<N>(sum, dx + i * inner);
  }
}

/// The sum of a column of the bottom's gradient, where the image has that column.
template <int N, typename Stored>
__attribute__((always_inline)) inline void put(const Floats<N>& sum, const PoolLines& lines, int64_t column,
                                               Stored* dx) {
  if (column >= 0 && column < lines.columns.window.in) store<N>(sum, dx + column * lines.inner);
}

/// The same as max_lanes_gradient for windows of `kWidth` columns, each `kStride` behind the one before, without
/// dilation. It goes over the outputs: each is read once, for all of its columns. Those that the next window sees, too,
/// stay in registers.
template <int N, int kWidth, int kStride, typename Stored>
ROBUSTA_SIMD void window_lanes_gradient(const PoolLines& lines, int64_t row, const Stored* dy, const uint8_t* taps,
                                        Stored* dx) {
  const PoolLine::Range rows = lines.rows.outputs[static_cast<size_t>(row)];
  const int64_t outputs = lines.columns.window.out, inner = lines.inner, rows_apart = lines.rows.tap_step * kWidth;
  Floats<N> sums[kWidth] = {};
  int64_t column = -lines.columns.window.pad;
  for (int64_t o = 0; o < outputs; ++o, column += kStride) {
    int64_t tap = rows.tap * kWidth;
    for (int64_t r = rows.begin; r < rows.end; ++r, tap -= rows_apart) {
      const int64_t at = (r * outputs + o) * inner;
      Ints<N> chosen;
      TapBytes<N>::load(taps + at, chosen);
      Floats<N> gradient;
      load<N>(dy + at, gradient);
      for (int k = 0; k < kWidth; ++k) {
        sums[k] += chosen == Ints<N>{} + static_cast<int32_t>(tap + k) ? gradient : Floats<N>{};
      }
    }
    for (int k = 0; k < kStride; ++k) put<N>(sums[k], lines, column + k, dx);
    for (int k = 0; k < kWidth; ++k) sums[k] = k + kStride < kWidth ? sums[k + kStride] : Floats<N>{};
  }
  for (int k = 0; k < kWidth - kStride; ++k) put<N>(sums[k], lines, column + k, dx);
  for (column += kWidth - kStride; column < lines.columns.window.in; ++column) put<N>(Floats<N>{}, lines, column, dx);
}

template <int N, typename Stored>
void max_gradient(const PoolLines& lines, int64_t row, const Stored* dy, const uint8_t* taps, Stored* dx) {
  const WindowAxis &across = lines.columns.window, &down = lines.rows.window;
  const bool dense = across.dilation == 1 && down.dilation == 1;
  if (dense && across.kernel == 3 && across.stride == 2) {
    window_lanes_gradient<N, 3, 2>(lines, row, dy, taps, dx);
  } else if (dense && across.kernel == 3 && across.stride == 1) {
    window_lanes_gradient<N, 3, 1>(lines, row, dy, taps, dx);
  } else if (dense && across.kernel == 2 && across.stride == 2) {
    window_lanes_gradient<N, 2, 2>(lines, row, dy, taps, dx);
  } else {
    max_lanes_gradient<N>(lines, row, dy, taps, dx);
  }
}

}  // namespace

template <typename Stored>
void max_pool_row(const PoolLines& lines, int64_t row, const Stored* x, Stored* y, uint8_t* taps) {
  for_pool_lanes(lines.inner, [&](auto lanes, int64_t lane) {
    if (taps) {
      max_lanes<lanes>(lines, row, x + lane, y + lane, taps + lane);
    } else {
      largest_lanes<lanes>(lines, row, x + lane, y + lane);
    }
  });
}

template <typename Stored>
void max_pool_row_gradient(const PoolLines& lines, int64_t row, const Stored* dy, const uint8_t* taps, Stored* dx) {
  for_pool_lanes(lines.inner,
                 [&](auto lanes, int64_t lane) { max_gradient<lanes>(lines, row, dy + lane, taps + lane, dx + lane); });
}

template void max_pool_row(const PoolLines&, int64_t, const float*, float*, uint8_t*);
template void max_pool_row(const PoolLines&, int64_t, const BFloat16*, BFloat16*, uint8_t*);
template void max_pool_row_gradient(const PoolLines&, int64_t, const float*, const uint8_t*, float*);
template void max_pool_row_gradient(const PoolLines&, int64_t, const BFloat16*, const uint8_t*, BFloat16*);

}  // namespace robusta
