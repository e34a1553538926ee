// SmoothL1Loss: L = sum v f(w (a - b)) / N for N samples, f being the smooth L1 distance.
//
// As in Intel's fork (smooth_L1_loss_layer.cpp), with none or both of the weights w ("inside") and v ("outside"), and
// without 1 / N for normalization: NONE, while other modes mean 1 / N; and as in NVIDIA's, with w alone. There the
// gradient lacks the factor w, which for weights of 0 and 1 is the same; here it is the derivative.

#include "base/log.h"
#include "base/str.h"
#include "layers/backends/regression_loss.h"
#include "layers/kit/field_checks.h"
#include "layers/kit/smooth_l1.h"

namespace robusta {
namespace {

LossNormalizer samples_or_nothing(const caffe::LayerParameter& param) {
  const LossNormalizer::Mode mode = param.loss_param().normalization();
  if (mode == caffe::LossParameter::FULL || mode == caffe::LossParameter::PRE_FIXED) {
    LOG_WARNING << "layer " << param.name() << ": " << caffe::LossParameter::NormalizationMode_Name(mode)
                << " does nothing to SmoothL1Loss, which is divided by the number of samples unless it is NONE";
  }
  return LossNormalizer({}, mode == caffe::LossParameter::NONE ? mode : caffe::LossParameter::BATCH_SIZE);
}

class SmoothL1LossLayer : public RegressionLossLayer {
 public:
  explicit SmoothL1LossLayer(const caffe::LayerParameter& param)
      : RegressionLossLayer(param, samples_or_nothing(param)) {
    const float sigma = require_finite(param.smooth_l1_loss_param().sigma(), "smooth_l1_loss_param.sigma");
    if (sigma > 0) return;
    throw Error(ErrorKind::kConfig, str("sigma is ", sigma), "give a positive number")
        .in_field("smooth_l1_loss_param.sigma");
  }
  Arity arity() const override { return {2, 4, 1, 1}; }
};

template <typename Math>
struct SmoothDistance : SmoothL1<Math> {
  explicit SmoothDistance(const caffe::LayerParameter& layer)
      : SmoothL1<Math>(static_cast<typename Math::T>(layer.smooth_l1_loss_param().sigma())) {}
};

}  // namespace

ROBUSTA_REGISTER_REGRESSION_LOSS("SmoothL1Loss", SmoothDistance, SmoothL1LossLayer);

}  // namespace robusta
