// MVN: mean-variance normalisation of each channel of each sample, or, with across_channels, of each sample (BVLC's
// Caffe).
//
// y = (x - mean) / (deviation + eps), or x - mean without normalize_variance. Caffe's gradient takes deviation + eps
// for the deviation in one place; here it is the derivative.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/row_norm.h"

namespace robusta {
namespace {

class MvnLayer : public RowNormLayer {
 public:
  explicit MvnLayer(const caffe::LayerParameter& param) : RowNormLayer(param) {
    const auto& p = param.mvn_param();
    norm_.centred = true;
    norm_.size = p.normalize_variance() ? RowSize::kDeviation : RowSize::kOne;
    norm_.eps = p.eps();
    if (p.eps() >= 0) return;
    throw Error(ErrorKind::kConfig, str("eps ", p.eps(), " is no number from 0 on"), "use a small positive number")
        .in_field("mvn_param.eps");
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& bottom = bottoms[0];
    if (bottom.axes() < 2) {
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels and further axes, not ", bottom.str()));
    }
    const int end = param().mvn_param().across_channels() ? 1 : 2;
    norm_.view = AxisView(Shape{bottom.count(0, end), bottom.count(end)}, 1);
    return bottoms;
  }
};

}  // namespace

ROBUSTA_REGISTER_ROW_NORM("MVN", MvnLayer);

}  // namespace robusta
