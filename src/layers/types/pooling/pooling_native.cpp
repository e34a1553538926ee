// Pooling in f32 over one or two spatial axes, vectorised over what lies innermost: the channels of a block
// (nChw16c and its like), all channels (channels last), or single pixels (plain).
//
// Backward goes over the pixels of the bottom and gathers from the windows that cover each, so nothing has to be
// cleared first and no two threads write to one place. MAX keeps one byte per output: the tap that was largest.

#include <cstdint>

#include "base/parallel.h"
#include "layers/backends/onednn/layout.h"
#include "layers/kit/elementwise.h"
#include "layers/types/pooling/native_rows.h"
#include "layers/types/pooling/pooling.h"

namespace robusta {
namespace {

class PoolingNative : public Kernel {
 public:
  PoolingNative(const KernelRequest& request, const PoolingLayer& layer, const Layout& bottom, const Layout& top)
      : is_max_(layer.is_max()),
        lines_{PoolLine(layer.axes().size() == 2 ? layer.axes()[0] : WindowAxis{}, layer.counts_padding()),
               PoolLine(layer.axes().back(), layer.counts_padding())} {
    lines_.inner = onednn::has_channels_last(bottom) ? layer.channels() : onednn::channel_block(bottom);
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
      const int64_t at = image * out_size() + row * columns_out() * lines_.inner;
      const float* from = x + image * in_size();
      if (is_max_) {
        max_pool_row(lines_, row, from, y + at, taps ? taps + at : nullptr);
      } else {
        average_pool_row(lines_, row, from, y + at);
      }
    });
  }

  void backward(const KernelRun& run) override {
    if (!run.bottom_diffs[0]) return;
    const float* dy = run.top_diffs[0].as<float>();
    float* dx = run.bottom_diffs[0].as<float>();
    const uint8_t* taps = static_cast<const uint8_t*>(run.saved);
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

std::unique_ptr<Kernel> make_pooling_native(const KernelRequest& request, std::string& why_not) {
  const auto& layer = request.layer<PoolingLayer>();
  if (!is_f32(request, why_not)) return nullptr;
  if (layer.is_dilated()) {
    why_not = "takes no dilation";
  } else if (layer.axes().size() > 2) {
    why_not = "takes one or two spatial axes";
  } else if (is_too_long(layer.axes())) {
    why_not = "an axis is too long";
  } else if (layer.is_stochastic()) {
    why_not = "draws no pixels";
  } else if (layer.has_index_top()) {
    why_not = "gives no indices";
  } else if (layer.has_empty_windows()) {
    why_not = "a window lies outside of the image";
  } else if (layer.is_max() && taps(layer.axes()) >= kNoPoolTap) {
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
