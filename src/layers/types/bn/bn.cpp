// BN: fields, shapes and parameters.

#include "layers/types/bn/bn.h"

#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"

namespace robusta {
namespace {

enum class Kind { kSegNet, kPspNet, kWindows };

/// The name of a field that only this kind has; null where none is given.
const char* field_of(Kind kind, const caffe::BNParameter& p) {
  if (kind == Kind::kSegNet) return p.has_bn_mode() ? "bn_mode" : nullptr;
  if (kind == Kind::kWindows) {
    return p.has_var_eps() ? "var_eps" : p.has_decay() ? "decay" : p.has_moving_average() ? "moving_average" : nullptr;
  }
  return p.has_slope_filler()  ? "slope_filler"
         : p.has_bias_filler() ? "bias_filler"
         : p.has_momentum()    ? "momentum"
         : p.has_eps()         ? "eps"
         : p.has_frozen()      ? "frozen"
                               : nullptr;
}

/// SegNet's where nothing but what it shares with caffe-windows' is given.
Kind kind_of(const caffe::BNParameter& p) {
  Kind found = Kind::kSegNet;
  const char* first = nullptr;
  for (const Kind kind : {Kind::kSegNet, Kind::kPspNet, Kind::kWindows}) {
    const char* field = field_of(kind, p);
    if (!field) continue;
    if (first) {
      throw Error(ErrorKind::kConfig, str(first, " and ", field, " belong to the BN of different Caffes"),
                  "give the fields of one of SegNet's, PSPNet's and caffe-windows'")
          .in_field(str("bn_param.", field));
    }
    found = kind, first = field;
  }
  return found;
}

float require_share(float value, const std::string& field) {
  if (value >= 0 && value <= 1) return value;
  throw Error(ErrorKind::kConfig, str(field, " is ", value), "give a number from 0 to 1").in_field("bn_param." + field);
}

float require_eps(float value, const std::string& field) {
  if (value >= 0) return value;
  throw Error(ErrorKind::kConfig, str(field, " is ", value), "use a small positive number")
      .in_field("bn_param." + field);
}

/// As given, else a constant 1.
caffe::FillerParameter or_one(bool given, caffe::FillerParameter filler) {
  if (!given) filler.set_value(1);
  return filler;
}

}  // namespace

BnLayer::BnLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.bn_param();
  const Kind kind = kind_of(p);
  const bool pspnet = kind == Kind::kPspNet;
  scale_field_ = pspnet ? "bn_param.slope_filler" : "bn_param.scale_filler";
  shift_field_ = pspnet ? "bn_param.bias_filler" : "bn_param.shift_filler";
  scale_filler_ =
      pspnet ? or_one(p.has_slope_filler(), p.slope_filler()) : or_one(p.has_scale_filler(), p.scale_filler());
  shift_filler_ = pspnet ? p.bias_filler() : p.shift_filler();
  plan_.scale = 0;
  plan_.shift = 1;
  if (kind == Kind::kSegNet) {
    plan_.stored = p.bn_mode() == caffe::BNParameter::INFERENCE;
    // SegNet's has no field for it; 1e-9 is written into its bn_layer.cpp.
    plan_.eps.value = plan_.stored ? 0 : 1e-9;
    return;
  }
  plan_.mean = 2;
  plan_.variance = 3;
  plan_.fraction = pspnet ? require_share(p.momentum(), "momentum") : 1 - require_share(p.decay(), "decay");
  plan_.share = 1 - plan_.fraction;
  plan_.eps.value = pspnet ? require_eps(p.eps(), "eps") : require_eps(p.var_eps(), "var_eps");
  plan_.stored = pspnet ? p.frozen() || !training() : p.moving_average() && !training();
  // What is frozen from the beginning has nothing better.
  variance_filler_.set_value(p.frozen() ? 1 : 0);
}

std::vector<Shape> BnLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& bottom = bottoms[0];
  if (bottom.axes() < 2) {
    throw Error(ErrorKind::kConfig, str("takes an input of batch, channels and further axes, not ", bottom.str()));
  }
  shape_.fix({1, bottom[1], 1, 1}, "scale");
  plan_.batch = bottom[0];
  plan_.channels = bottom[1];
  plan_.plane = bottom.count(2);
  return bottoms;
}

std::vector<ParamDecl> BnLayer::params() const {
  const Shape shape = shape_.get();
  check_filler(scale_filler_, shape, scale_field_);
  check_filler(shift_filler_, shape, shift_field_);
  const bool frozen = param().bn_param().frozen();
  std::vector<ParamDecl> decls{{shape, &scale_filler_, frozen}, {shape, &shift_filler_, frozen}};
  if (!has_statistics()) return decls;
  decls.push_back({shape, nullptr, true});
  decls.push_back({shape, &variance_filler_, true});
  return decls;
}

namespace {

std::unique_ptr<Kernel> make_bn_reference(const KernelRequest& request, std::string&) {
  return make_channel_norm_reference(request, request.layer<BnLayer>().plan());
}

}  // namespace

ROBUSTA_REGISTER_LAYER("BN", BnLayer);
ROBUSTA_REGISTER_KERNEL("BN", "reference", 0, make_bn_reference);

}  // namespace robusta
