/// BatchReindex: y[i] = x[index[i]], items of bottom 0 in the order that bottom 1 lists; one may come several times.
/// Shared by its kernels.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"
#include "layers/kit/picked_rows.h"

namespace robusta {

class BatchReindexLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return bottom == 0; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// After infer_tops.
  const RowPicks& picks() const { return picks_; }

 private:
  RowPicks picks_;
};

/// What every kernel books: backward looks at the list, not at the items.
inline void book_batch_reindex(Booking& booking) {
  booking.reads_bottoms = {false, true};
  booking.repeatable = true;
}

}  // namespace robusta
