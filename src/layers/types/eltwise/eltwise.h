/// Eltwise: sum, product or maximum of several blobs of one shape, element by element. Shared by its kernels.
#pragma once

#include "layers/kit/layer.h"
#include "layers/kit/roles.h"
#include "layers/kit/tells_shapes.h"

namespace robusta {

class EltwiseLayer : public Layer, public Joint, public TellsShapes {
 public:
  using Operation = caffe::EltwiseParameter::EltwiseOp;

  explicit EltwiseLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {2, -1, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  /// All bottoms are as one of the others is.
  std::optional<Shape> wanted_bottom(size_t bottom, const std::vector<Shape>& bottoms) const override {
    const Shape& other = bottoms[bottom == 0 ? 1 : 0];
    return bottoms[bottom] == other ? std::nullopt : std::optional(other);
  }
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  Operation operation() const { return param().eltwise_param().operation(); }
  bool is_sum() const override { return operation() == caffe::EltwiseParameter::SUM; }
  /// The factor of bottom i in a sum.
  float coeff(int bottom) const override;
  bool plain_sum() const;  ///< a sum whose factors are all 1: each bottom's gradient is the top's
  /// Whether the gradient of a product is the product of the other bottoms (finite at 0) or y / x.
  bool stable_prod_grad() const { return param().eltwise_param().stable_prod_grad(); }
};

}  // namespace robusta
