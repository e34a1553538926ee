// Which inputs a window sees, looked up for each output and each input of an axis.

#include <algorithm>

#include "layers/types/pooling/native_rows.h"

namespace robusta {

PoolLine::PoolLine(const WindowAxis& window, bool counts_padding)
    : window(window), outputs(static_cast<size_t>(window.in), Range{window.out, 0}) {
  for (int64_t o = 0; o < window.out; ++o) {
    const int64_t first = first_of(o), last = std::min(first + window.kernel, window.in + window.pad_behind());
    const Range seen{std::max<int64_t>(first, 0), std::min(last, window.in)};
    inputs.push_back(seen);
    length.push_back(static_cast<float>(counts_padding ? last - first : seen.end - seen.begin));
    for (int64_t i = seen.begin; i < seen.end; ++i) {
      Range& by = outputs[static_cast<size_t>(i)];
      by = {std::min(by.begin, o), o + 1};
    }
  }
}

}  // namespace robusta
