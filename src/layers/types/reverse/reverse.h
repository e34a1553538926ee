/// Reverse: the elements along an axis, or along several, in reverse order. Shared by its kernels.
///
/// As in ChWick/caffe, branch ctc (reverse_layer.cpp), where the first axis is reversed unless another is given, and in
/// Synopsys' Caffe, which takes several. Reversing twice changes nothing, so the gradient is reversed in the same way.
#pragma once

#include "base/half.h"
#include "layers/kit/layer.h"

namespace robusta {

/// Which element comes where, of plain arrays.
struct ReverseMap {
  static constexpr int kMost = 8;
  int axes = 0;
  int64_t extent[kMost] = {}, stride[kMost] = {};

  ROBUSTA_HOST_DEVICE int64_t operator()(int64_t i) const {
    int64_t place = i;
    for (int axis = 0; axis < axes; ++axis) {
      const int64_t coordinate = i / stride[axis] % extent[axis];
      place += (extent[axis] - 1 - 2 * coordinate) * stride[axis];
    }
    return place;
  }
};

class ReverseLayer : public Layer {
 public:
  using Layer::Layer;
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

  /// After infer_tops.
  const ReverseMap& map() const { return map_; }

 private:
  ReverseMap map_;
};

}  // namespace robusta
