// Normalize: y = scale x / sqrt(sum of x^2 + eps), where the sum goes over a sample, or, without across_spatial, over
// the channels of a pixel (Liu et al. 2015, "ParseNet: Looking Wider to See Better"; SSD, Intel's and NVIDIA's Caffe).
//
// The scale is learned: one for all channels (channel_shared), or one for each; 1 at first unless scale_filler says
// otherwise.
//
// A layer with normalize_param is that of happynear/caffe-windows (src/caffe/layers/normalize_layer.cpp): the channels
// of a pixel, with an eps of 1e-6 and no scale. Its second top, the lengths, is not made, hence bp_norm has nothing to
// do.

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
    if (has_no_scale()) check_lengths();
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
    norm_.by_channel = has_no_scale() || !p.across_spatial();
    norm_.view = norm_.by_channel ? AxisView(bottom, 1) : AxisView(Shape{bottom[0], bottom.count(1)}, 1);
    if (has_no_scale()) return bottoms;
    shape_.fix(p.channel_shared() ? Shape{} : Shape{bottom[1]}, "scale");
    norm_.scales = shape_.get().count();
    norm_.per_scale = norm_.view.classes / norm_.scales;
    return bottoms;
  }

  std::vector<ParamDecl> params() const override {
    if (has_no_scale()) return {};
    check_filler(filler_, shape_.get(), "norm_param.scale_filler");
    return {{shape_.get(), &filler_}};
  }

 private:
  bool has_no_scale() const { return param().has_normalize_param(); }

  void check_lengths() {
    constexpr double kEps = 1e-6;
    norm_.eps = kEps;
    const auto& p = param().normalize_param();
    const bool mixed = p.has_across_spatial() || p.has_scale_filler() || p.has_channel_shared() || p.has_eps();
    if (mixed || param().has_norm_param()) {
      throw Error(ErrorKind::kConfig, "norm_param (SSD) and normalize_param (caffe-windows) are different layers",
                  "give one of them, with its own fields")
          .in_field("normalize_param");
    }
    if (p.normalize_type() == "L2") return;
    throw Error(ErrorKind::kUnsupported, "normalize_type \"" + p.normalize_type() + "\" is not in this build",
                "of the lengths of vectors only L2 is")
        .in_field("normalize_param.normalize_type");
  }

  FixedShape shape_;
  caffe::FillerParameter filler_;  // as given, else constant 1
};

}  // namespace

ROBUSTA_REGISTER_ROW_NORM("Normalize", NormalizeLayer);

}  // namespace robusta
