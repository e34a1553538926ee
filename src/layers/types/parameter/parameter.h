/// Parameter: a top that is learned, a parameter of parameter_param.shape that begins with zeros. Shared by its
/// kernels.
///
/// Caffe gives top and parameter one memory; here the top is a copy, so that what is computed in place on it leaves the
/// parameter alone.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class ParameterLayer : public Layer {
 public:
  explicit ParameterLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {0, 0, 1, 1}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>&) override { return {shape_}; }
  std::vector<ParamDecl> params() const override { return {{shape_}}; }
  double forward_flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  Shape shape_;
};

}  // namespace robusta
