/// PReLU: y = max(0, x) + a * min(0, x) with learned slopes a, one per channel or one for all (He et al. 2015). Shared
/// by its kernels.
#pragma once

#include "layers/kit/layer.h"

namespace robusta {

class PreluLayer : public Layer {
 public:
  explicit PreluLayer(const caffe::LayerParameter& param);
  Arity arity() const override { return {}; }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override;
  std::vector<ParamDecl> params() const override { return {{shared() ? Shape{} : Shape{channels_}, &filler_, false}}; }
  bool shared() const { return param().prelu_param().channel_shared(); }

 private:
  caffe::FillerParameter filler_;
  int64_t channels_ = 0;
};

}  // namespace robusta
