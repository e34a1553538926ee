/// Layers that normalise rows of the bottom, each by its own mean and size: MVN, Normalize and L2Norm say which, and
/// have all kernels.
///
///   y = (x - mean) * inverse (* scale)
///
/// where `inverse` is 1, 1 / (deviation + eps) or 1 / sqrt(sum of squares + eps) of the row; all of it has a gradient.
/// The scale is a parameter.
///
///     ROBUSTA_REGISTER_ROW_NORM("MVN", MvnLayer);    the layer and the reference
///     ROBUSTA_REGISTER_GPU_ROW_NORM(MVN);            in mvn_gpu.cpp: backends/gpu/row_norm.h
#pragma once

#include <cmath>
#include <string>

#include "base/half.h"
#include "layers/kit/axis_view.h"
#include "layers/kit/booking.h"

namespace robusta {

enum class RowSize { kOne, kDeviation, kLength };

/// What is done to rows. A row is a position of `view`, its elements are the classes.
struct RowNorm {
  AxisView view{Shape{1, 1}, 1};
  bool by_channel = false;  ///< the view goes by axis 1: `classes` are channels
  bool centred = false;     ///< the mean is subtracted
  RowSize size = RowSize::kOne;
  double eps = 0;
  int64_t scales = 0;     ///< elements of the scale; 0: there is none
  int64_t per_scale = 1;  ///< neighbouring classes that share one
};

/// What is kept of a row from forward to backward. With h = (x - mean) * inverse and g = dy * scale,
///
///   dx = inverse * (g - mean of g - weight * h * sum of g h),
///
/// the mean only where it was subtracted from x, and the last term because the size of the row depends on x, too.
template <typename T>
struct RowMoments {
  T mean, inverse, weight;
};

/// From the sums of x - origin and of its squares; any origin serves (Chan, Golub and LeVeque 1983, "Algorithms for
/// Computing the Sample Variance"), and it is 0 where the length is wanted. A row without size becomes zeros, if eps
/// does not save it, and has no gradient through its size.
template <typename T>
ROBUSTA_HOST_DEVICE RowMoments<T> row_moments(const RowNorm& norm, double origin, double sum, double squares) {
  const auto n = static_cast<double>(norm.view.classes);
  const double from_origin = sum / n, mean = norm.centred ? origin + from_origin : 0;
  if (norm.size == RowSize::kOne) return {static_cast<T>(mean), T{1}, T{0}};
  if (norm.size == RowSize::kLength) {
    const double length = ::sqrt(squares + norm.eps);
    return {static_cast<T>(mean), static_cast<T>(length == 0 ? 0 : 1 / length), T{1}};
  }
  const double variance = squares / n - from_origin * from_origin, deviation = variance > 0 ? ::sqrt(variance) : 0;
  const double inverse = deviation + norm.eps == 0 ? 0 : 1 / (deviation + norm.eps);
  const double weight = deviation == 0 ? 0 : (deviation + norm.eps) / (deviation * n);
  // A NaN is no deviation of zero.
  return {static_cast<T>(mean), static_cast<T>(variance == variance ? inverse : variance), static_cast<T>(weight)};
}

class RowNormLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const override {
    return 5 * static_cast<double>(tops[0].count());
  }
  /// After infer_tops.
  const RowNorm& norm() const { return norm_; }

 protected:
  RowNorm norm_;
};

/// What all their kernels book. `row`: bytes that are kept of a row.
void book_row_norm(const KernelRequest& request, size_t row, Booking& booking);

/// Registers the reference kernel.
bool register_row_norm_kernel(const std::string& type);

#define ROBUSTA_REGISTER_ROW_NORM(type, Class) \
  ROBUSTA_REGISTER_LAYER(type, Class);         \
  static const bool registered_row_norm_##Class = ::robusta::register_row_norm_kernel(type)

}  // namespace robusta
