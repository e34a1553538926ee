/// Softmax along one axis. Shared by its kernels.
#pragma once

#include "layers/kit/axis_view.h"
#include "layers/kit/booking.h"
#include "layers/kit/in_place.h"

namespace robusta {

class SoftmaxLayer : public Layer, public ReadsItsBlob {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    return 5 * static_cast<double>(tops[0].count());  // maximum, difference, exponential, sum, quotient
  }
  BackwardRead backward_read() const override { return {.top = true, .needs = Content::kAll}; }
  int axis() const { return axis_; }  ///< counted from the front; after infer_tops

 private:
  int axis_ = 1;
};

/// The booking of all kernels: plain tensors, backward from the result alone.
class SoftmaxKernel : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelRequest& request)
      : view_(request.bottoms[0].shape, request.layer<SoftmaxLayer>().axis()) {
    book_reads(false, true, booking_);
    book_in_place(booking_);
  }

 protected:
  AxisView view_;
};

}  // namespace robusta
