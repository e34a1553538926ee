/// MergeCrop: bottom 0 and the middle of bottom 1, whose images are larger, side by side as channels (STACK) or added
/// up (ADD): the joints of U-shaped nets (as in naibaf7/caffe). Shared by its kernels.
///
/// What is cut off of bottom 1 is the same on both sides, or one more behind. `forward` says for each bottom whether it
/// counts (else zeros stand for it), by default both; `backward` whether it gets a gradient, by default bottom 0 alone.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/gather.h"
#include "layers/kit/layer.h"

namespace robusta {

class MergeCropLayer : public Layer {
 public:
  explicit MergeCropLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, 2, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  bool allows_gradient(int bottom) const override { return has_gradient(bottom); }

  bool counts(int bottom) const;
  bool has_gradient(int bottom) const;
  /// From a plain bottom to its part of the plain top, zeros around it. After infer_tops.
  const Gather& part(int bottom) const { return parts_[bottom]; }

 private:
  Gather part_of(int bottom, const std::vector<Shape>& bottoms, const Shape& top) const;
  bool stacks() const { return param().mergecrop_param().operation() == caffe::MergeCropParameter::STACK; }

  Gather parts_[2];
};

/// What every kernel books.
inline void book_merge_crop(Booking& booking) {
  book_reads_nothing(2, booking);
  booking.repeatable = true;
}

}  // namespace robusta
