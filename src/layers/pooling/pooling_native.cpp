// Pooling in f32 over one or two spatial axes, vectorised over what lies innermost: the channels of a block
// (nChw16c and its like), all channels (channels last), or single pixels (plain).
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each, so nothing has to be cleared
// first and no two threads write to one place. MAX keeps one byte per output: the tap that was largest.

#include <algorithm>
#include <cfloat>
#include <cstdint>

#include "base/parallel.h"
#include "base/simd.h"
#include "layers/elementwise.h"
#include "layers/onednn/layout.h"
#include "layers/pooling/pooling.h"

namespace robusta {
namespace {

constexpr int kNoTap = 255;  ///< no pixel of the window is above -FLT_MAX

/// N floats side by side. At least 4-byte alignment; operations work element by element.
template <int N, typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <int N>
using Floats = typename VectorOf<N, float>::type;
template <int N>
using Ints = typename VectorOf<N, int32_t>::type;
template <int N>
using Bytes = typename VectorOf<N, uint8_t>::type;

/// Both spatial axes and the windows along them; the tables are indexed by output or input position.
struct Geometry {
  WindowAxis rows, columns;
  int64_t inner = 1;  ///< floats from one pixel to the next
  bool counts_padding = true;

  struct Range {
    int64_t begin, end;
  };
  /// Inputs that output `o` sees.
  static Range inputs_of(const WindowAxis& axis, int64_t o) {
    const int64_t first = o * axis.stride - axis.pad;
    return {std::max<int64_t>(first, 0), std::min(first + axis.kernel, axis.in)};
  }
  /// Outputs that see input `i`.
  static Range outputs_of(const WindowAxis& axis, int64_t i) {
    const int64_t last = (i + axis.pad) / axis.stride;
    const int64_t first = (i + axis.pad - axis.kernel + axis.stride) / axis.stride;
    const bool before_all = i + axis.pad < axis.kernel;
    return {before_all ? 0 : first, std::min(last + 1, axis.out)};
  }
  /// The length of a window that AVE divides by: clipped to the padded or to the bare image.
  float length(const WindowAxis& axis, int64_t o) const {
    const int64_t first = o * axis.stride - axis.pad;
    const Range seen = inputs_of(axis, o);
    const int64_t clipped = counts_padding ? std::min(first + axis.kernel, axis.in + axis.pad) - first
                                           : seen.end - seen.begin;
    return static_cast<float>(clipped);
  }
};

/// N lanes of one row of outputs. `x`: the image; `y`, `taps`: the row. `taps` may be null.
template <int N>
ROBUSTA_SIMD void max_row(const Geometry& g, int64_t row, const float* x, float* y, uint8_t* taps) {
  const Geometry::Range rows = Geometry::inputs_of(g.rows, row);
  const int64_t top = row * g.rows.stride - g.rows.pad;
  for (int64_t o = 0; o < g.columns.out; ++o) {
    const Geometry::Range columns = Geometry::inputs_of(g.columns, o);
    const int64_t left = o * g.columns.stride - g.columns.pad;
    Floats<N> best = Floats<N>{} - FLT_MAX;
    Ints<N> best_tap = Ints<N>{} + kNoTap;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const Floats<N> value = *reinterpret_cast<const Floats<N>*>(x + (i * g.columns.in + j) * g.inner);
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>((i - top) * g.columns.kernel + (j - left));
        best_tap = value > best ? tap : best_tap;
        best = value > best ? value : best;
      }
    }
    *reinterpret_cast<Floats<N>*>(y + o * g.inner) = best;
    if (taps) *reinterpret_cast<Bytes<N>*>(taps + o * g.inner) = __builtin_convertvector(best_tap, Bytes<N>);
  }
}

/// N lanes of one row of the bottom's gradient.
template <int N>
ROBUSTA_SIMD void max_row_gradient(const Geometry& g, int64_t row, const float* dy, const uint8_t* taps, float* dx) {
  const Geometry::Range rows = Geometry::outputs_of(g.rows, row);
  for (int64_t i = 0; i < g.columns.in; ++i) {
    const Geometry::Range columns = Geometry::outputs_of(g.columns, i);
    Floats<N> sum = {};
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      const int64_t row_tap = (row - (r * g.rows.stride - g.rows.pad)) * g.columns.kernel;
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        const int64_t at = (r * g.columns.out + c) * g.inner;
        const Ints<N> tap = Ints<N>{} + static_cast<int32_t>(row_tap + i - (c * g.columns.stride - g.columns.pad));
        const Ints<N> chosen = __builtin_convertvector(*reinterpret_cast<const Bytes<N>*>(taps + at), Ints<N>);
        sum += chosen == tap ? *reinterpret_cast<const Floats<N>*>(dy + at) : Floats<N>{};
      }
    }
    *reinterpret_cast<Floats<N>*>(dx + i * g.inner) = sum;
  }
}

template <int N>
ROBUSTA_SIMD void average_row(const Geometry& g, int64_t row, const float* x, float* y) {
  const Geometry::Range rows = Geometry::inputs_of(g.rows, row);
  const float height = g.length(g.rows, row);
  for (int64_t o = 0; o < g.columns.out; ++o) {
    const Geometry::Range columns = Geometry::inputs_of(g.columns, o);
    Floats<N> sum = {};
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        sum += *reinterpret_cast<const Floats<N>*>(x + (i * g.columns.in + j) * g.inner);
      }
    }
    *reinterpret_cast<Floats<N>*>(y + o * g.inner) = sum / (height * g.length(g.columns, o));
  }
}

template <int N>
ROBUSTA_SIMD void average_row_gradient(const Geometry& g, int64_t row, const float* dy, float* dx) {
  const Geometry::Range rows = Geometry::outputs_of(g.rows, row);
  for (int64_t i = 0; i < g.columns.in; ++i) {
    const Geometry::Range columns = Geometry::outputs_of(g.columns, i);
    Floats<N> sum = {};
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        sum += *reinterpret_cast<const Floats<N>*>(dy + (r * g.columns.out + c) * g.inner) /
               (g.length(g.rows, r) * g.length(g.columns, c));
      }
    }
    *reinterpret_cast<Floats<N>*>(dx + i * g.inner) = sum;
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
      : is_max_(layer.is_max()) {
    const std::vector<WindowAxis>& axes = layer.axes();
    geometry_.columns = axes.back();
    if (axes.size() == 2) geometry_.rows = axes[0];
    geometry_.counts_padding = layer.counts_padding();
    const TensorDesc stored{request.bottoms[0].shape, DType::kF32, bottom};
    const int64_t pixels = geometry_.rows.in * geometry_.columns.in;
    geometry_.inner = onednn::is_channels_last(bottom) ? layer.channels() : onednn::channel_block(bottom);
    images_ = stored_count(stored) / (pixels * geometry_.inner);
    booking_.bottom_layouts = {bottom};
    booking_.top_layouts = {top};
    booking_.reads_bottoms = {false};
    if (is_max_ && request.backward) booking_.saved_bytes = static_cast<size_t>(images_ * out_size());
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const float* x = run.bottoms[0].as<float>();
    float* y = run.tops[0].as<float>();
    uint8_t* taps = booking_.saved_bytes > 0 ? static_cast<uint8_t*>(run.saved) : nullptr;
    for_rows(geometry_.rows.out, geometry_.columns.out, [=, this](int64_t image, int64_t row) {
      const int64_t at = image * out_size() + row * geometry_.columns.out * geometry_.inner;
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
    for_rows(geometry_.rows.in, geometry_.columns.in, [=, this](int64_t image, int64_t row) {
      const int64_t at = image * in_size() + row * geometry_.columns.in * geometry_.inner;
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
  int64_t in_size() const { return geometry_.rows.in * geometry_.columns.in * geometry_.inner; }
  int64_t out_size() const { return geometry_.rows.out * geometry_.columns.out * geometry_.inner; }

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
