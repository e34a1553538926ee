// Pooling over one to three spatial axes, vectorised over what lies innermost: the channels of a block (nChw16c
// and its like), all channels (channels last), or single pixels (plain).
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each, so nothing has to be
// cleared first and no two threads write to one place. MAX keeps one byte per output: the tap that was largest.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/elementwise.h"
#include "layers/types/pooling/native_rows.h"
#include "layers/types/pooling/plane_windows.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {
namespace {

/// Pooling over one or two axes of `images` images.
class PoolPass {
 public:
  PoolPass(const WindowAxis& rows, const WindowAxis& columns, const PoolingLayer& layer, int64_t images, int64_t inner)
      : is_max_(layer.is_max()),
        lines_{PoolLine(rows, layer.counts_padding()), PoolLine(columns, layer.counts_padding()), inner},
        images_(images) {}

  int64_t in() const { return images_ * in_size(); }
  int64_t out() const { return images_ * out_size(); }

  /// `taps`: a byte for each output of MAX, or null.
  template <typename Stored>
  void forward(const Stored* x, Stored* y, uint8_t* taps) const {
    for_rows(rows_out(), columns_out(), [=, this](int64_t image, int64_t row) {
      const int64_t at = image * out_size() + row * columns_out() * lines_.inner;
      const Stored* from = x + image * in_size();
      if (is_max_) {
        max_pool_row(lines_, row, from, y + at, taps ? taps + at : nullptr);
      } else {
        average_pool_row(lines_, row, from, y + at);
      }
    });
  }

  template <typename Stored>
  void backward(const Stored* dy, const uint8_t* taps, Stored* dx) const {
    for_rows(rows_in(), columns_in(), [=, this](int64_t image, int64_t row) {
      const int64_t at = image * in_size() + row * columns_in() * lines_.inner;
      const int64_t from = image * out_size();
      if (is_max_) {
        max_pool_row_gradient(lines_, row, dy + from, taps + from, dx + at);
      } else {
        average_pool_row_gradient(lines_, row, dy + from, dx + at);
      }
    });
  }

 private:
  int64_t rows_in() const { return lines_.rows.window.in; }
  int64_t rows_out() const { return lines_.rows.window.out; }
  int64_t columns_in() const { return lines_.columns.window.in; }
  int64_t columns_out() const { return lines_.columns.window.out; }
  int64_t in_size() const { return rows_in() * columns_in() * lines_.inner; }
  int64_t out_size() const { return rows_out() * columns_out() * lines_.inner; }

  template <typename Body>
  void for_rows(int64_t rows, int64_t columns, const Body& body) const {
    const int64_t grain = 1 + (1 << 12) / (columns * lines_.inner);
    parallel_for(images_ * rows, grain, [&](int64_t i) { body(i / rows, i % rows); });
  }

  bool is_max_;
  PoolLines lines_;
  int64_t images_;
};

/// The passes of a pooling, one after the other: each plane of a volume by itself, then over the depth, whose steps
/// have a whole plane between them. The largest of the largest is the largest, and of equal ones still the first; areas
/// of windows are products over their axes.
std::vector<PoolPass> pool_passes(const PoolingLayer& layer, int64_t images, int64_t inner) {
  const std::vector<WindowAxis>& axes = layer.axes();
  const WindowAxis none, &columns = axes.back(), &rows = axes.size() > 1 ? axes[axes.size() - 2] : none;
  if (axes.size() < 3) return {PoolPass(rows, columns, layer, images, inner)};
  const std::span all(axes);
  const WindowAxis& depth = axes.front();
  std::vector<PoolPass> passes;
  if (!is_pointwise(all.last(2))) passes.emplace_back(rows, columns, layer, images * depth.in, inner);
  if (passes.empty() || !is_pointwise(all.first(1))) {
    passes.emplace_back(depth, none, layer, images, rows.out * columns.out * inner);
  }
  return passes;
}

template <typename Stored>
class PoolingNative : public Kernel {
 public:
  PoolingNative(const KernelRequest& request, const PoolingLayer& layer, const Layout& bottom, const Layout& top) {
    const int64_t inner = onednn::has_channels_last(bottom) ? layer.channels() : onednn::channel_block(bottom);
    const int64_t stored = stored_count({request.bottoms[0].shape, request.dtype(), bottom});
    passes_ = pool_passes(layer, stored / (elements_in(layer.axes()) * inner), inner);
    booking_.bottom_layouts = {bottom};
    booking_.top_layouts = {top};
    booking_.repeatable = true;
    booking_.reads_bottoms = {false};
    if (has_middle()) booking_.forward_scratch = booking_.backward_scratch = bytes_of_middle();
    if (!layer.is_max() || !request.backward) return;
    for (const PoolPass& pass : passes_) booking_.saved_bytes += static_cast<size_t>(pass.out());
  }
  std::string describe() const override { return "native"; }

  void forward(const KernelRun& run) override {
    const Stored* x = run.bottoms[0].as<Stored>();
    Stored *y = run.tops[0].as<Stored>(), *middle = static_cast<Stored*>(run.scratch);
    uint8_t* taps = booking_.saved_bytes > 0 ? static_cast<uint8_t*>(run.saved) : nullptr;
    passes_.front().forward(x, has_middle() ? middle : y, taps);
    if (has_middle()) passes_.back().forward(middle, y, taps ? taps + passes_.front().out() : nullptr);
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const Stored* dy = run.top_diffs[0].as<Stored>();
    Stored *dx = run.bottom_diffs[0].as<Stored>(), *middle = static_cast<Stored*>(run.scratch);
    const uint8_t* taps = static_cast<const uint8_t*>(run.saved);
    if (has_middle()) passes_.back().backward(dy, taps ? taps + passes_.front().out() : nullptr, middle);
    passes_.front().backward(has_middle() ? middle : dy, taps, dx);
  }

 private:
  /// What lies between two passes.
  bool has_middle() const { return passes_.size() > 1; }
  size_t bytes_of_middle() const { return static_cast<size_t>(passes_.front().out()) * sizeof(Stored); }

  std::vector<PoolPass> passes_;
};

/// The bottom's layout if the kernel can walk over it, else plain, and the same for the top.
void choose_layouts(const KernelRequest& request, Layout& bottom, Layout& top) {
  const Layout& offered = request.bottoms[0].layout;
  const onednn::Dims dims = onednn::dims_of(request.tops[0].shape);
  if (onednn::has_channels_last(offered)) {
    top = onednn::layout_of(onednn::channels_last_desc(dims));
  } else if (const int block = onednn::channel_block(offered); block > 1) {
    top = onednn::layout_of(onednn::blocked_desc(dims, block));
  } else {
    return;
  }
  bottom = offered;
}

/// More than a byte can tell apart in one of the passes.
bool has_too_many_taps(const std::vector<WindowAxis>& axes) {
  const std::span all(axes);
  const int64_t of_plane = taps(all.last(std::min<size_t>(2, axes.size())));
  return of_plane >= kNoPoolTap || (axes.size() > 2 && axes.front().kernel >= kNoPoolTap);
}

/// True when some window has no pixel: its largest would be -FLT_MAX, in the padding of blocks, too.
bool misses_image(const WindowAxis& axis) {
  for (int64_t o = 0; o < axis.out; ++o) {
    const PoolTaps taps = PoolTaps::of(axis, o, true);
    if (taps.begin >= taps.end) return true;
  }
  return false;
}

std::unique_ptr<Kernel> make_pooling_native(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<PoolingLayer>();
  if (!is_f32_or_bf16(request, why_not)) return nullptr;
  if (is_too_long(layer.axes())) {
    why_not = "an axis is too long";
  } else if (layer.is_stochastic()) {
    why_not = "draws no pixels";
  } else if (layer.has_index_top()) {
    why_not = "gives no indices";
  } else if (std::ranges::any_of(layer.axes(), misses_image)) {
    why_not = "a window lies outside of the image";
  } else if (layer.is_max() && has_too_many_taps(layer.axes())) {
    why_not = "a window has too many pixels for an index of one byte";
  }
  if (!why_not.empty()) return nullptr;
  Layout bottom, top;
  choose_layouts(request, bottom, top);
  return with_f32_or_bf16(request.dtype(), [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<PoolingNative<decltype(stored)>>(request, layer, bottom, top);
  });
}

}  // namespace

ROBUSTA_REGISTER_KERNEL("Pooling", "native", 10, make_pooling_native);

}  // namespace robusta
