/// InnerProduct: what its kernels share.
///
/// y[rows, outputs] = x[rows, inputs] W^T + b, where `rows` are all axes before `axis` and `inputs` all others.
#pragma once

#include "layers/kit/fixed_shape.h"
#include "layers/kit/layer.h"

namespace robusta {

struct InnerProductSize {
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool transposed = false;  ///< W is stored as [inputs, outputs]
};

/// Parameters: weights [outputs, inputs], or [inputs, outputs] if transposed(); bias [outputs] if has_bias().
class InnerProductLayer : public Layer {
 public:
  explicit InnerProductLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override;
  double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const override;

  /// After infer_tops.
  const InnerProductSize& size() const { return size_; }
  int64_t num_output() const override { return outputs(); }
  int64_t outputs() const { return param().inner_product_param().num_output(); }
  bool transposed() const { return param().inner_product_param().transpose(); }
  bool has_bias() const { return param().inner_product_param().bias_term(); }

 private:
  InnerProductSize size_;
  FixedShape weights_;
};

}  // namespace robusta
