// Which inputs a window sees, looked up for each output and each input of an axis.

#include <algorithm>
#include <numeric>

#include "layers/types/pooling/native_rows.h"
#include "layers/types/pooling/plane_windows.h"

namespace robusta {

PoolLine::PoolLine(const WindowAxis& window, bool counts_padding)
    : window(window), outputs(static_cast<size_t>(window.in), Range{window.out, 0, 0}) {
  const int64_t common = std::gcd(window.stride, window.dilation);
  output_step = window.dilation / common;
  tap_step = window.stride / common;
  for (int64_t o = 0; o < window.out; ++o) {
    const PoolTaps taps = PoolTaps::of(window, o, counts_padding);
    const int64_t first = o * window.stride - window.pad;
    inputs.push_back({taps.begin, taps.end, (taps.begin - first) / window.dilation});
    length.push_back(static_cast<float>(taps.length));
    for (int64_t i = taps.begin; i < taps.end; i += taps.step) {
      Range& by = outputs[static_cast<size_t>(i)];
      if (by.end == 0) by = {o, o, (i - first) / window.dilation};
      by.end = o + 1;
    }
  }
}

}  // namespace robusta
