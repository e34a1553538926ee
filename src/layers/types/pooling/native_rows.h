/// Rows of pooling on the CPU: the loops of the native kernel, over one or two spatial axes (a lacking one is
/// one row high), with dilation.
///
/// `Stored`: float or BFloat16; all is computed in float.
///
/// A row is [columns, inner]: `inner` elements stand between a pixel and the next one, the channels that are stored
/// side by side. Each function writes one whole row, 16, 8, 4 and then single channels at a time. Where MAX is
/// concerned, a tap is a pixel's number within its window, padding included.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/window.h"

namespace robusta {

/// One spatial axis, with what its windows see, and by which windows each input is seen, looked up: the divisions would
/// cost more than the pooling.
///
/// The taps of an output are `dilation` inputs apart. Input i is seen by outputs o with o * stride + tap * dilation =
/// i + pad; those lie dilation / gcd apart, gcd being that of stride and dilation, and from one to the next the tap
/// falls by stride / gcd.
struct PoolLine {
  struct Range {
    int64_t begin, end;
    int64_t tap;  ///< at `begin`
  };
  WindowAxis window;
  std::vector<Range> inputs;   ///< of each output
  std::vector<Range> outputs;  ///< of each input
  std::vector<float> length;   ///< of each output's window, clipped to the image with or without its padding
  int64_t output_step = 1;     ///< from one output that sees an input to the next
  int64_t tap_step = 1;        ///< by which the tap falls then

  PoolLine(const WindowAxis& window, bool counts_padding);
};

struct PoolLines {
  PoolLine rows, columns;
  int64_t inner = 1;  ///< elements from one pixel to the next
};

/// A tap that no pixel has: none of the window is above -FLT_MAX.
inline constexpr int kNoPoolTap = 255;

/// Row `row` of the top of one image: the largest of each window, and its tap, the first of equal ones. `x` is the
/// image, `y` and `taps` the row. `taps` may be null. REQUIRES: all taps are less than kNoPoolTap.
template <typename Stored>
void max_pool_row(const PoolLines& lines, int64_t row, const Stored* x, Stored* y, uint8_t* taps);
/// Row `row` of the bottom's gradient: the sum of dy over the windows that took this pixel. `dy`, `taps`: the image.
template <typename Stored>
void max_pool_row_gradient(const PoolLines& lines, int64_t row, const Stored* dy, const uint8_t* taps, Stored* dx);
/// Row `row` of the top: the sum of each window over its area.
template <typename Stored>
void average_pool_row(const PoolLines& lines, int64_t row, const Stored* x, Stored* y);
/// Row `row` of the bottom's gradient: the sum of dy over area of the windows that see this pixel.
template <typename Stored>
void average_pool_row_gradient(const PoolLines& lines, int64_t row, const Stored* dy, Stored* dx);

}  // namespace robusta
