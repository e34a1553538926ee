/// Bias: what its kernels share.
///
/// y[o, c, i] = x[o, c, i] + bias[c], where c runs over the axes axis..axis+num_axes-1 of bottom 0. The bias is a
/// parameter, or the second bottom.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"

namespace robusta {

/// Parameters: the bias unless it is a bottom.
class BiasLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {1, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;

  bool bias_is_bottom() const { return param().bottom_size() > 1; }
  int64_t outer() const { return outer_; }  ///< elements before the spanned axes
  int64_t count() const { return count_; }  ///< elements of the bias
  int64_t inner() const { return inner_; }  ///< elements after the spanned axes

 private:
  int64_t outer_ = 0, count_ = 0, inner_ = 0;
  FixedShape shape_;
};

/// What every kernel books: the top may overwrite bottom 0, whose gradient is the top's own.
inline void book_bias(const KernelRequest& request, Booking& booking) {
  book_reads_nothing(request.bottoms.size(), booking);
  booking.repeatable = true;
  booking.forward_aliases = {{0, 0, false}};
  booking.backward_aliases = {{0, 0, true}};
}

}  // namespace robusta
