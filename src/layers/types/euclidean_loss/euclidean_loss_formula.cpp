// EuclideanLoss: L = sum (w (a - b))^2 / (2 N) for N samples; dL/da = w^2 (a - b) / N = -dL/db.
//
// The weights w are a third bottom of naibaf7/caffe (src/caffe/layers/euclidean_loss_layer.cpp), 1 elsewhere. Its
// gradient is w (a - b) / N: for weights of 0 and 1, as masks have them, that is the derivative, too.

#include "layers/backends/regression_loss.h"

namespace robusta {
namespace {

template <typename Math>
struct HalfSquare {
  using T = typename Math::T;
  ROBUSTA_GPU T value(T d) const { return d * d / 2; }
  ROBUSTA_GPU T slope(T d) const { return d; }
};

class EuclideanLossLayer : public RegressionLossLayer {
 public:
  using RegressionLossLayer::RegressionLossLayer;
  Arity arity() const override { return {2, 3, 1, 1}; }
};

}  // namespace

ROBUSTA_REGISTER_REGRESSION_LOSS("EuclideanLoss", HalfSquare, EuclideanLossLayer);

}  // namespace robusta
