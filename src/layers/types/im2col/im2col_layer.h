/// Im2col: the patches that a convolution sees, unfolded into channels: [batch, channels, in...] becomes [batch,
/// channels * taps, out...] (ops/im2col.h). Shared by its kernels.
///
/// Of convolution_param only windows and `axis` count: num_output and group mean nothing here, as in Caffe.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"
#include "ops/window.h"

namespace robusta {

class Im2colLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// After infer_tops.
  int64_t batch() const { return batch_; }  ///< all axes before the channels'
  int64_t channels() const { return channels_; }
  const std::vector<WindowAxis>& axes() const { return axes_; }

 private:
  int64_t batch_ = 0, channels_ = 0;
  std::vector<WindowAxis> axes_;
};

/// What every kernel books.
inline void book_im2col(Booking& booking) {
  book_reads_nothing(1, booking);
  booking.repeatable = true;
}

}  // namespace robusta
