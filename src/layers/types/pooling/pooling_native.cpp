// Pooling in f32 over one or two spatial axes, vectorised over what lies innermost: the channels of a block
// (nChw16c and its like), all channels (channels last), or single pixels (plain).
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each, so nothing has to be
// cleared first and no two threads write to one place. MAX keeps one byte per output: the tap that was largest.

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/vector_types.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {
namespace {

constexpr int kNoTap = 255;  ///< no pixel of the window is above -FLT_MAX

/// The taps of N lanes as N bytes. Bytes of one lane each would be widened lane by lane; so lanes 0..3 are the lowest
/// bytes of the four words, lanes 4..7 the next ones, and so on: shifts and masks. (Vectors go by reference, because
/// how they are passed depends on the instruction set.)
template <int N>
struct Taps;

template <>
struct Taps<16> {
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

template <>
struct Taps<4> {
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<4>& taps) {
    taps = Ints<4>{from[0], from[1], from[2], from[3]};
  }
  __attribute__((always_inline)) static void store(const Ints<4>& taps, uint8_t* to) {
    for (int lane = 0; lane < 4; ++lane) to[lane] = static_cast<uint8_t>(taps[lane]);
  }
};

template <>
struct Taps<1> {
  __attribute__((always_inline)) static void load(const uint8_t* from, Ints<1>& taps) { taps = Ints<1>{*from}; }
  __attribute__((always_inline)) static void store(const Ints<1>& taps, uint8_t* to) {
    *to = static_cast<uint8_t>(taps[0]);
  }
};

/// One spatial axis, with what its windows see, and by which windows each input is seen, looked up: the divisions would
/// cost more than the pooling.
struct Axis {
  struct Range {
    int64_t begin, end;
  };
  WindowAxis window;
  std::vector<Range> inputs;   ///< of each output
  std::vector<Range> outputs;  ///< of each input
  std::vector<float> length;   ///< of each output's window, clipped to the image with or without its padding

  Axis(const WindowAxis& window, bool counts_padding)
      : window(window), outputs(static_cast<size_t>(window.in), Range{window.out, 0}) {
    for (int64_t o = 0; o < window.out; ++o) {
      const int64_t first = first_of(o), last = std::min(first + window.kernel, window.in + window.pad);
      const Range seen{std::max<int64_t>(first, 0), std::min(last, window.in)};
      inputs.push_back(seen);
      length.push_back(static_cast<float>(counts_padding ? last - first : seen.end - seen.begin));
      for (int64_t i = seen.begin; i < seen.end; ++i) {
        Range& by = outputs[static_cast<size_t>(i)];
        by = {std::min(by.begin, o), o + 1};
      }
    }
  }
  /// The place of the first tap, padding included.
  int64_t first_of(int64_t o) const { return o * window.stride - window.pad; }
};

struct Geometry {
  Axis rows, columns;
  int64_t inner = 1;  ///< floats from one pixel to the next
};

/// N lanes of one row of outputs. `x`: the image; `y`, `taps`: the row. `taps` may be null.
template <int N>
ROBUSTA_SIMD void max_row(const Geometry& g, int64_t row, const float* x, float* y, uint8_t* taps) {
  const Axis::Range rows = g.rows.inputs[static_cast<size_t>(row)];
  const Axis::Range* inputs = g.columns.inputs.data();
  const int64_t top = g.rows.first_of(row), width = g.columns.window.in, inner = g.inner;
  const int64_t kernel = g.columns.window.kernel;
  for (int64_t o = 0; o < g.columns.window.out; ++o) {
    const Axis::Range columns = inputs[o];
    const int64_t left = g.columns.first_of(o);
    Floats<N> best = Floats<N>{} - FLT_MAX;
    Ints<N> best_tap = Ints<N>{} + kNoTap;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const Floats<N> value = floats_at<N>(x + (i * width + j) * inner);
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>((i - top) * kernel + (j - left));
        best_tap = value > best ? tap : best_tap;
        best = value > best ? value : best;
      }
    }
    floats_at<N>(y + o * inner) = best;
    if (taps) Taps<N>::store(best_tap, taps + o * inner);
  }
}

/// N lanes of one row of the bottom's gradient.
template <int N>
ROBUSTA_SIMD void max_row_gradient(const Geometry& g, int64_t row, const float* dy, const uint8_t* taps, float* dx) {
  const Axis::Range rows = g.rows.outputs[static_cast<size_t>(row)];
  const Axis::Range* outputs = g.columns.outputs.data();
  const int64_t width = g.columns.window.out, inner = g.inner, kernel = g.columns.window.kernel;
  for (int64_t i = 0; i < g.columns.window.in; ++i) {
    const Axis::Range columns = outputs[i];
    Floats<N> sum = {};
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      const int64_t row_tap = (row - g.rows.first_of(r)) * kernel;
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        const int64_t at = (r * width + c) * inner;
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>(row_tap + i - g.columns.first_of(c));
        Ints<N> chosen;
        Taps<N>::load(taps + at, chosen);
        sum += chosen == tap ? floats_at<N>(dy + at) : Floats<N>{};
      }
    }
    floats_at<N>(dx + i * inner) = sum;
  }
}

template <int N>
ROBUSTA_SIMD void average_row(const Geometry& g, int64_t row, const float* x, float* y) {
  const Axis::Range rows = g.rows.inputs[static_cast<size_t>(row)];
  const Axis::Range* inputs = g.columns.inputs.data();
  const float height = g.rows.length[static_cast<size_t>(row)], *length = g.columns.length.data();
  const int64_t width = g.columns.window.in, inner = g.inner;
  for (int64_t o = 0; o < g.columns.window.out; ++o) {
    const Axis::Range columns = inputs[o];
    Floats<N> sum = {};
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        sum += floats_at<N>(x + (i * width + j) * inner);
      }
    }
    floats_at<N>(y + o * inner) = sum / (height * length[o]);
  }
}

template <int N>
ROBUSTA_SIMD void average_row_gradient(const Geometry& g, int64_t row, const float* dy, float* dx) {
  const Axis::Range rows = g.rows.outputs[static_cast<size_t>(row)];
  const Axis::Range* outputs = g.columns.outputs.data();
  const int64_t width = g.columns.window.out, inner = g.inner;
  const float *height = g.rows.length.data(), *length = g.columns.length.data();
  for (int64_t i = 0; i < g.columns.window.in; ++i) {
    const Axis::Range columns = outputs[i];
    Floats<N> sum = {};
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        sum += floats_at<N>(dy + (r * width + c) * inner) / (height[r] * length[c]);
      }
    }
    floats_at<N>(dx + i * inner) = sum;
  }
}

/// Calls body(lanes, offset) for pieces of 16, 4 and 1 lanes that make up `inner`.
template <typename Body>
void for_lanes(int64_t inner, const Body& body) {
  int64_t at = 0;
  for (; at + 16 <= inner; at += 16) body(std::integral_constant<int, 16>{}, at);
  for (; at + 4 <= inner; at += 4) body(std::integral_constant<int, 4>{}, at);
  for (; at < inner; ++at) body(std::integral_constant<int, 1>{}, at);
}

class PoolingNative : public Kernel {
 public:
  PoolingNative(const KernelRequest& request, const PoolingLayer& layer, const Layout& bottom, const Layout& top)
      : is_max_(layer.is_max()),
        geometry_{Axis(layer.axes().size() == 2 ? layer.axes()[0] : WindowAxis{}, layer.counts_padding()),
                  Axis(layer.axes().back(), layer.counts_padding())} {
    geometry_.inner = onednn::is_channels_last(bottom) ? layer.channels() : onednn::channel_block(bottom);
    images_ = stored_count({request.bottoms[0].shape, DType::kF32, bottom}) / in_size();
    booking_.bottom_layouts = {bottom};
    booking_.top_layouts = {top};
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    if (is_max_ && request.backward) booking_.saved_bytes = static_cast<size_t>(images_ * out_size());
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* x = run.bottoms[0].as<float>();
    float* y = run.tops[0].as<float>();
    uint8_t* taps = booking_.saved_bytes > 0 ? static_cast<uint8_t*>(run.saved) : nullptr;
    for_rows(rows_out(), columns_out(), [=, this](int64_t image, int64_t row) {
      const int64_t at = image * out_size() + row * columns_out() * geometry_.inner;
      for_lanes(geometry_.inner, [&](auto lanes, int64_t lane) {
        const float* from = x + image * in_size() + lane;
        if (is_max_) {
          max_row<lanes>(geometry_, row, from, y + at + lane, taps ? taps + at + lane : nullptr);
        } else {
          average_row<lanes>(geometry_, row, from, y + at + lane);
        }
      });
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const float* dy = run.top_diffs[0].as<float>();
    float* dx = run.bottom_diffs[0].as<float>();
    const uint8_t* taps = static_cast<const uint8_t*>(run.saved);
    for_rows(rows_in(), columns_in(), [=, this](int64_t image, int64_t row) {
      const int64_t at = image * in_size() + row * columns_in() * geometry_.inner;
      for_lanes(geometry_.inner, [&](auto lanes, int64_t lane) {
        const int64_t from = image * out_size() + lane;
        if (is_max_) {
          max_row_gradient<lanes>(geometry_, row, dy + from, taps + from, dx + at + lane);
        } else {
          average_row_gradient<lanes>(geometry_, row, dy + from, dx + at + lane);
        }
      });
    });
  }

 private:
  int64_t rows_in() const { return geometry_.rows.window.in; }
  int64_t rows_out() const { return geometry_.rows.window.out; }
  int64_t columns_in() const { return geometry_.columns.window.in; }
  int64_t columns_out() const { return geometry_.columns.window.out; }
  int64_t in_size() const { return rows_in() * columns_in() * geometry_.inner; }
  int64_t out_size() const { return rows_out() * columns_out() * geometry_.inner; }

  template <typename Body>
  void for_rows(int64_t rows, int64_t columns, const Body& body) const {
    const int64_t grain = 1 + (1 << 12) / (columns * geometry_.inner);
    parallel_for(images_ * rows, grain, [&](int64_t i) { body(i / rows, i % rows); });
  }

  bool is_max_;
  Geometry geometry_;
  int64_t images_;
};

/// The bottom's layout if the kernel can walk over it, else plain, and the same for the top.
void choose_layouts(const KernelRequest& request, Layout& bottom, Layout& top) {
  const Layout& offered = request.bottoms[0].layout;
  const onednn::Dims dims = onednn::dims_of(request.tops[0].shape);
  if (onednn::is_channels_last(offered)) {
    top = onednn::layout_of(onednn::channels_last_desc(dims));
  } else if (const int block = onednn::channel_block(offered); block > 1) {
    top = onednn::layout_of(onednn::blocked_desc(dims, block));
  } else {
    return;
  }
  bottom = offered;
}

std::unique_ptr<Kernel> make_pooling_native(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<PoolingLayer>();
  if (!is_f32(request, why_not)) return nullptr;
  if (layer.axes().size() > 2) {
    why_not = "takes one or two spatial axes";
  } else if (is_too_long(layer.axes())) {
    why_not = "an axis is too long";
  } else if (layer.has_index_top()) {
    why_not = "gives no indices";
  } else if (layer.has_empty_windows()) {
    why_not = "a window lies outside of the image";
  } else if (layer.is_max() && taps(layer.axes()) >= kNoTap) {
    why_not = "a window has too many pixels for an index of one byte";
  }
  if (!why_not.empty()) return nullptr;
  Layout bottom, top;
  choose_layouts(request, bottom, top);
  return std::make_unique<PoolingNative>(request, layer, bottom, top);
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Pooling", "native", 10, make_pooling_native);

}  // namespace robusta
