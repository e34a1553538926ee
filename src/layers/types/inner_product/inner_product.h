/// InnerProduct: what its kernels share.
///
/// y[rows, outputs] = x[rows, inputs] W^T + b, where `rows` are all axes before `axis` and `inputs` all others.
#pragma once

#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"

namespace robusta {

/// Parameters: weights [outputs, inputs], or [inputs, outputs] if transposed(); bias [outputs] if has_bias().
class InnerProductLayer : public Layer {
 public:
  explicit InnerProductLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  int64_t rows() const { return rows_; }
  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return param().inner_product_param().num_output(); }
  bool transposed() const { return param().inner_product_param().transpose(); }
  bool has_bias() const { return param().inner_product_param().bias_term(); }

 private:
  int64_t rows_ = 0, inputs_ = 0;
  FixedShape weights_;
};

}  // namespace robusta
