/// InnerProduct: what its kernels share.
///
/// y[rows, outputs] = x[rows, inputs] W^T + b, where `rows` are all axes before `axis` and `inputs` all others.
///
/// With `normalize` (happynear/caffe-windows, inner_product_layer.cpp; Wang, Xiang, Cheng, Yuille 2017, "NormFace") W
/// stands for the weights with each row divided by its length, and a row of zeros for itself. There each pass writes
/// the divided rows back; here a training pass does, and a test pass leaves weights as they are: they are another
/// net's. There the gradient of the weights is that of the product alone; here it goes through the division, so that
/// it is the derivative:
///
///   dw = (g - (g u) u) / |w|, u = w / |w|, of the gradient g of u
#pragma once

#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"
#include "layers/kit/model_group.h"
#include "layers/kit/rewrites_params.h"

namespace robusta {

struct InnerProductSize {
  int64_t rows = 0, inputs = 0, outputs = 0;  ///< x [rows, inputs], y [rows, outputs]
  bool transposed = false;                    ///< W is stored as [inputs, outputs]
};

/// Parameters: weights [outputs, inputs], or [inputs, outputs] if transposed(); bias [outputs] if has_bias().
class InnerProductLayer : public Layer, public RewritesParams, public CutByOutputs {
 public:
  explicit InnerProductLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;
  void cut(ModelGroup& group) override;

  /// After infer_tops.
  const InnerProductSize& size() const { return size_; }
  int64_t num_output() const override { return outputs(); }
  int64_t outputs() const { return param().inner_product_param().num_output(); }
  bool transposed() const { return param().inner_product_param().transpose(); }
  bool rewrites(int i) const override { return i == 0 && normalizes(); }
  /// Rows of the weights are divided by their lengths.
  bool normalizes() const { return param().inner_product_param().normalize(); }
  bool has_bias() const { return param().inner_product_param().bias_term(); }
  /// The ranks that share out its outputs; null: this one has all of them.
  ModelGroup* group() const { return group_; }

 private:
  InnerProductSize size_;
  FixedShape weights_;
  ModelGroup* group_ = nullptr;
};

}  // namespace robusta
