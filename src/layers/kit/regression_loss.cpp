// Losses of predictions and targets: shapes.

#include "layers/kit/regression_loss.h"

#include <algorithm>

#include "layers/kit/bottom_checks.h"

namespace robusta {
namespace {

/// [samples, 1, height, width], as Caffe shapes what is summed over the channels; longer where there are more axes.
Shape positions_of(const Shape& predictions) {
  std::vector<int64_t> dims = predictions.dims();
  dims.resize(std::max<size_t>(dims.size(), 4), 1);
  dims[1] = 1;
  return Shape(dims);
}

}  // namespace

std::vector<Shape> RegressionLossLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_same_items(bottoms);
  if (param().top_size() < 2) return {Shape{}};
  return {Shape{}, positions_of(bottoms[0])};
}

}  // namespace robusta
