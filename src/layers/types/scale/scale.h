/// Scale: what its kernels share.
///
/// y[o, c, i] = x[o, c, i] * scale[c] + bias[c], where c runs over the axes axis..axis+num_axes-1 of bottom 0. The
/// scale is a parameter, or the second bottom.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/roles.h"

namespace robusta {

/// Parameters: the scale unless it is a bottom, then the bias if has_bias(); both have the same shape.
class ScaleLayer : public Layer, public ChannelScale {
 public:
  explicit ScaleLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {1, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;

  bool has_bias() const override { return param().scale_param().bias_term(); }
  bool scale_is_bottom() const override { return param().bottom_size() > 1; }
  /// Place of the bias among the parameters, -1: there is none.
  int bias_place() const { return !has_bias() ? -1 : scale_is_bottom() ? 0 : 1; }
  int64_t outer() const override { return outer_; }  ///< elements before the scaled axes
  int64_t count() const override { return count_; }  ///< elements of the scale
  int64_t inner() const { return inner_; }           ///< elements after the scaled axes

 private:
  int64_t outer_ = 0, count_ = 0, inner_ = 0;
  FixedShape shape_;
  caffe::FillerParameter scale_filler_;  // as given, else constant 1
};

/// What every kernel books: backward reads bottom 0 for the gradient of the scale, and a scale that is a bottom for the
/// gradient of bottom 0, which the top may overwrite.
inline void book_scale(const KernelRequest& request, Booking& booking) {
  const bool scale_is_bottom = request.bottoms.size() > 1;
  const bool scale_grad = request.backward && (scale_is_bottom ? request.bottom_grads[1] : request.param_grads[0]);
  booking.reads_bottoms = {scale_grad};
  if (scale_is_bottom) booking.reads_bottoms.push_back(request.backward && request.bottom_grads[0]);
  book_in_place(booking);
}

}  // namespace robusta
