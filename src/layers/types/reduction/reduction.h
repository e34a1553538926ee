/// Reduction: y = coeff * sum over the last axes of x (SUM), of |x| (ASUM), of x^2 (SUMSQ), or of x / count (MEAN).
/// Shared by its kernels.
#pragma once

#include "layers/kit/booking.h"
#include "layers/kit/layer.h"

namespace robusta {

using ReductionOp = caffe::ReductionParameter::ReductionOp;

class ReductionLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  ReductionOp op() const { return param().reduction_param().operation(); }
  int64_t rows() const { return rows_; }        ///< sums, after infer_tops
  int64_t columns() const { return columns_; }  ///< terms of each
  /// What each sum is multiplied by.
  double factor() const;

 private:
  int64_t rows_ = 0, columns_ = 0;
};

/// A term of the sum, and its derivative. constexpr: GPU kernels may call them, too.
template <typename T>
constexpr T reduced(ReductionOp op, T x) {
  if (op == caffe::ReductionParameter::ASUM) return x < 0 ? -x : x;
  return op == caffe::ReductionParameter::SUMSQ ? x * x : x;
}
template <typename T>
constexpr T reduced_slope(ReductionOp op, T x) {
  if (op == caffe::ReductionParameter::ASUM) return static_cast<T>((x > 0) - (x < 0));
  return op == caffe::ReductionParameter::SUMSQ ? 2 * x : T{1};
}

/// What every kernel books.
inline void book_reduction(ReductionOp op, Booking& booking) {
  const bool linear = op == caffe::ReductionParameter::SUM || op == caffe::ReductionParameter::MEAN;
  book_reads(!linear, false, booking);
  booking.repeatable = true;
}

}  // namespace robusta
