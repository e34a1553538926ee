/// Filter: of each bottom but the last, the items whose selector, the last bottom, is not zero. Shared by its kernels.
///
/// How many these are is known in the pass alone: the net asks before the layer runs (Layer::sizing_bottom) and plans
/// what comes after for that number. Before the first pass, all items count as selected, as in Caffe.
#pragma once

#include <optional>

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"

namespace robusta {

class FilterLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, -1, 1, -1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom < param().bottom_size() - 1; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  int sizing_bottom() const override { return param().bottom_size() - 1; }
  void size_by(std::span<const float> selectors) override;

 private:
  /// How many were selected, of how many.
  struct Selection {
    int64_t selected, items;
  };
  std::optional<Selection> selection_;
};

/// What every kernel books: backward looks at the selectors alone.
inline void book_filter(size_t bottoms, Booking& booking) {
  booking.reads_bottoms.assign(bottoms, false);
  booking.reads_bottoms.back() = true;
}

}  // namespace robusta
