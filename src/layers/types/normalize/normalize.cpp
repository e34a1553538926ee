// Normalize: y = scale x / sqrt(sum of x^2 + eps), where the sum goes over a sample, or, without across_spatial, over
// the channels of a pixel (Liu et al. 2015, "ParseNet: Looking Wider to See Better"; SSD, Intel's and NVIDIA's Caffe).
//
// The scale is learned: one for all channels (channel_shared), or one for each; 1 at first unless scale_filler says
// otherwise.

#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"
#include "layers/kit/fixed_shape.h"
#include "layers/kit/row_norm.h"

namespace robusta {
namespace {

class NormalizeLayer : public RowNormLayer {
 public:
  explicit NormalizeLayer(const caffe::LayerParameter& param)
      : RowNormLayer(param), filler_(param.norm_param().scale_filler()) {
    const auto& p = param.norm_param();
    if (!p.has_scale_filler()) filler_.set_value(1);
    norm_.size = RowSize::kLength;
    norm_.eps = p.eps();
    if (param.has_normalize_param()) {
      throw Error(ErrorKind::kUnsupported, "normalize_param (caffe-windows) is not in this build",
                  "write norm_param { across_spatial: false }, which has a scale besides")
          .in_field("normalize_param");
    }
    if (p.eps() >= 0) return;
    throw Error(ErrorKind::kConfig, str("eps ", p.eps(), " is no number from 0 on"), "use a small positive number")
        .in_field("norm_param.eps");
  }

  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    require_elements(bottoms);
    const Shape& bottom = bottoms[0];
    if (bottom.axes() < 2) {
      throw Error(ErrorKind::kConfig, str("takes an input of batch, channels and further axes, not ", bottom.str()));
    }
    const auto& p = param().norm_param();
    shape_.fix(p.channel_shared() ? Shape{} : Shape{bottom[1]}, "scale");
    norm_.by_channel = !p.across_spatial();
    norm_.view = norm_.by_channel ? AxisView(bottom, 1) : AxisView(Shape{bottom[0], bottom.count(1)}, 1);
    norm_.scales = shape_.get().count();
    norm_.per_scale = norm_.view.classes / norm_.scales;
    return bottoms;
  }

  std::vector<ParamDecl> params() const override {
    check_filler(filler_, shape_.get(), "norm_param.scale_filler");
    return {{shape_.get(), &filler_}};
  }

 private:
  FixedShape shape_;
  caffe::FillerParameter filler_;  // as given, else constant 1
};

}  // namespace

ROBUSTA_REGISTER_ROW_NORM("Normalize", NormalizeLayer);

}  // namespace robusta
