// Unfolding of images into columns, one channel after another, and the transpose: sums of columns back into images.

#include "ops/im2col.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace robusta {
namespace {

/// Calls copy(input offset, output offset) for each run over the last axis and gap(output offset, length) for each
/// block that lies outside of the image. `tap` gives the tap on each axis.
template <typename Copy, typename Gap>
void walk(std::span<const WindowAxis> axes, const int64_t* tap, int64_t in_offset, int64_t out_offset, const Copy& copy,
          const Gap& gap) {
  if (axes.size() <= 1) {
    copy(in_offset, out_offset);
    return;
  }
  const WindowAxis& axis = axes[0];
  const auto inner = axes.subspan(1);
  const int64_t in_step = elements_in(inner), out_step = elements_out(inner);
  for (int64_t o = 0; o < axis.out; ++o) {
    const int64_t i = o * axis.stride - axis.pad + tap[0] * axis.dilation;
    if (i < 0 || i >= axis.in) {
      gap(out_offset + o * out_step, out_step);
    } else {
      walk(inner, tap + 1, in_offset + i * in_step, out_offset + o * out_step, copy, gap);
    }
  }
}

/// The outputs begin..end-1 of one axis see the image through this tap; output `begin` sees input `first`.
struct Visible {
  int64_t begin, end, first;
};

Visible visible(const WindowAxis& axis, int64_t tap) {
  const int64_t shift = tap * axis.dilation - axis.pad;  // input seen by output 0
  const int64_t begin = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  const int64_t end = axis.in <= shift ? 0 : (axis.in - shift + axis.stride - 1) / axis.stride;
  const int64_t last = std::min(end, axis.out);
  return {std::min(begin, std::max<int64_t>(last, 0)), std::max<int64_t>(last, 0), shift + begin * axis.stride};
}

std::vector<int64_t> tap_of(std::span<const WindowAxis> axes, int64_t index) {
  std::vector<int64_t> tap(axes.size());
  for (size_t a = axes.size(); a-- > 0; index /= axes[a].kernel) tap[a] = index % axes[a].kernel;
  return tap;
}

}  // namespace

template <typename T>
void im2col(const T* image, int64_t channels, std::span<const WindowAxis> axes, T* columns) {
  const int64_t window = taps(axes), in = elements_in(axes), out = elements_out(axes);
  const WindowAxis row = axes.empty() ? WindowAxis{} : axes.back();
  parallel_ranges(channels * window, 1 + (1 << 14) / out, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const std::vector<int64_t> tap = tap_of(axes, r % window);
      const Visible seen = visible(row, axes.empty() ? 0 : tap.back());
      const T* from = image + r / window * in;
      T* to = columns + r * out;
      walk(
          axes, tap.data(), 0, 0,
          [&](int64_t i, int64_t o) {
            std::fill(to + o, to + o + seen.begin, T{0});
            const int64_t first = i + seen.first;
            for (int64_t k = seen.begin; k < seen.end; ++k) to[o + k] = from[first + (k - seen.begin) * row.stride];
            std::fill(to + o + seen.end, to + o + row.out, T{0});
          },
          [&](int64_t o, int64_t length) { std::fill(to + o, to + o + length, T{0}); });
    }
  });
}

template <typename T>
void col2im(const T* columns, int64_t channels, std::span<const WindowAxis> axes, T* image) {
  const int64_t window = taps(axes), in = elements_in(axes), out = elements_out(axes);
  const WindowAxis row = axes.empty() ? WindowAxis{} : axes.back();
  parallel_ranges(channels, 1 + (1 << 14) / (window * out), [&](int64_t begin, int64_t end) {
    std::fill(image + begin * in, image + end * in, T{0});
    for (int64_t r = begin * window; r < end * window; ++r) {
      const std::vector<int64_t> tap = tap_of(axes, r % window);
      const Visible seen = visible(row, axes.empty() ? 0 : tap.back());
      const T* from = columns + r * out;
      T* to = image + r / window * in;
      walk(
          axes, tap.data(), 0, 0,
          [&](int64_t i, int64_t o) {
            const int64_t first = i + seen.first;
            for (int64_t k = seen.begin; k < seen.end; ++k) to[first + (k - seen.begin) * row.stride] += from[o + k];
          },
          [](int64_t, int64_t) {});
    }
  });
}

template void im2col(const float*, int64_t, std::span<const WindowAxis>, float*);
template void im2col(const double*, int64_t, std::span<const WindowAxis>, double*);
template void col2im(const float*, int64_t, std::span<const WindowAxis>, float*);
template void col2im(const double*, int64_t, std::span<const WindowAxis>, double*);

}  // namespace robusta
