// Functions of single elements, and LRN, whose fields readers pass over or take for other ones where they are not said.

#include <cmath>

#include "base/str.h"
#include "exchange/deploy/rule_checks.h"
#include "exchange/deploy/rule_layers.h"

namespace robusta::deploy {
namespace {

constexpr float kNoBound = 1e20f;  // what programs write for a Clip without one is larger

}  // namespace

std::optional<Finding> check_lrn_fields(const DeployNet& net, int layer) {
  const caffe::LRNParameter& p = net.param(layer).lrn_param();
  if (net.param(layer).type() != "LRN" || (p.has_local_size() && p.has_alpha() && p.has_beta())) return std::nullopt;
  return Finding{str(!p.has_alpha()        ? "alpha"
                     : !p.has_local_size() ? "local_size"
                                           : "beta",
                     " is not said, and readers take another number than Caffe"),
                 "lrn_param"};
}

void mend_lrn_fields(DeployNet& net, int layer) {
  caffe::LRNParameter* p = net.param(layer).mutable_lrn_param();
  p->set_local_size(p->local_size());
  p->set_alpha(p->alpha());
  p->set_beta(p->beta());
  net.change();
}

std::optional<Finding> check_plain_log(const DeployNet& net, int layer) {
  const caffe::LogParameter& p = net.param(layer).log_param();
  if (net.param(layer).type() != "Log" || (p.base() == -1 && p.scale() == 1 && p.shift() == 0)) return std::nullopt;
  const char* field = p.base() != -1 ? "log_param.base" : p.scale() != 1 ? "log_param.scale" : "log_param.shift";
  return Finding{"base, scale and shift of a Log are passed over", field};
}

/// log_b(shift + scale x) = ln(shift + scale x) / ln b.
void mend_plain_log(DeployNet& net, int layer) {
  const caffe::LogParameter p = net.param(layer).log_param();
  net.param(layer).clear_log_param();
  net.change();
  int at = layer;
  if (p.scale() != 1 || p.shift() != 0) at = net.put_before(at, 0, power_layer(p.scale(), p.shift()), "_of");
  if (p.base() == -1) return;
  net.append_behind(at, power_layer(static_cast<float>(1 / std::log(static_cast<double>(p.base())))), "_base");
}

std::optional<Finding> check_plain_exp(const DeployNet& net, int layer) {
  const caffe::ExpParameter& p = net.param(layer).exp_param();
  if (net.param(layer).type() != "Exp" || (p.base() == -1 && p.scale() == 1 && p.shift() == 0)) return std::nullopt;
  const char* field = p.base() != -1 ? "exp_param.base" : p.scale() != 1 ? "exp_param.scale" : "exp_param.shift";
  return Finding{"base, scale and shift of an Exp are passed over", field};
}

/// b^(shift + scale x) = e^(ln b shift + ln b scale x).
void mend_plain_exp(DeployNet& net, int layer) {
  const caffe::ExpParameter p = net.param(layer).exp_param();
  net.param(layer).clear_exp_param();
  net.change();
  const double log_base = p.base() == -1 ? 1 : std::log(static_cast<double>(p.base()));
  net.put_before(
      layer, 0, power_layer(static_cast<float>(log_base * p.scale()), static_cast<float>(log_base * p.shift())), "_of");
}

std::optional<Finding> check_no_clip(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Clip") return std::nullopt;
  return Finding{"a Clip is not understood", "type"};
}

/// With s = 6 / (max - min), min(max, max(min, x)) = relu6(s (x - min)) / s + min; with min alone relu(x - min) + min,
/// with max alone max - relu(max - x).
void mend_no_clip(DeployNet& net, int layer) {
  const caffe::ClipParameter p = net.param(layer).clip_param();
  const bool from_min = p.min() > -kNoBound, to_max = p.max() < kNoBound;
  if (!(p.max() > p.min()) || (!from_min && !to_max)) {
    throw Error(ErrorKind::kUnsupported, str("a Clip from ", p.min(), " to ", p.max()), "remove the layer")
        .in_field("clip_param");
  }
  const double scale = !from_min ? -1 : !to_max ? 1 : 6 / (static_cast<double>(p.max()) - p.min());
  const double from = from_min ? p.min() : p.max();
  net.param(layer).clear_clip_param();
  net.param(layer).set_type(from_min && to_max ? "ReLU6" : "ReLU");
  net.change();
  if (from == 0 && scale == 1) return;
  const auto bound = [](double number) { return static_cast<float>(number); };
  const int at = net.put_before(layer, 0, power_layer(bound(scale), bound(-scale * from)), "_of");
  net.append_behind(at, power_layer(bound(1 / scale), bound(from)), "_range");
}

std::optional<Finding> check_swish_beta(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Swish" || net.param(layer).swish_param().beta() == 1) return std::nullopt;
  return Finding{"beta is passed over", "swish_param.beta"};
}

std::optional<Finding> check_no_swish(const DeployNet& net, int layer) {
  if (net.param(layer).type() != "Swish") return std::nullopt;
  return Finding{"a Swish is not understood", "type"};
}

void mend_no_swish(DeployNet& net, int layer) { mend_swish_beta(net, layer); }

/// x sigmoid(beta x), as a product.
void mend_swish_beta(DeployNet& net, int layer) {
  caffe::LayerParameter& param = net.param(layer);
  const float beta = param.swish_param().beta();
  param.clear_swish_param();
  param.set_type("Eltwise");
  param.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  param.add_bottom(param.bottom(0));
  net.change();
  caffe::LayerParameter sigmoid;
  sigmoid.set_type("Sigmoid");
  const int product = net.put_before(layer, 1, sigmoid, "_sigmoid");
  if (beta != 1) net.put_before(product - 1, 0, power_layer(beta), "_beta");
}

}  // namespace robusta::deploy
