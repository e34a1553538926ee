// BatchNorm: shapes and parameters.

#include "layers/types/batch_norm/batch_norm.h"

#include "base/log.h"
#include "layers/kit/bottom_checks.h"
#include "layers/kit/filler.h"

namespace robusta {

BatchNormLayer::BatchNormLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.batch_norm_param();
  if (!(p.eps() >= 0)) {
    throw Error(ErrorKind::kConfig, str("eps ", p.eps(), " is negative"), "use a small positive number")
        .in_field("batch_norm_param.eps");
  }
  if (!p.add_eps_before_sqrt() && !uses_global_stats()) {
    throw Error(ErrorKind::kUnsupported, "add_eps_before_sqrt is false, and the statistics are those of the batch",
                "remove it to train, or give use_global_stats: true")
        .in_field("batch_norm_param.add_eps_before_sqrt");
  }
  if (p.stats_batch_size() > 0) {
    LOG_WARNING << "layer " << param.name() << ": stats_batch_size " << p.stats_batch_size()
                << " (Intel) is not done by this build: statistics are over the whole batch of a rank";
  }
  for (int i = 0; i < param.param_size() && i < 3; ++i) {
    if (param.param(i).has_lr_mult() && param.param(i).lr_mult() != 0) {
      if (has_scale()) {  // written for NVIDIA's Caffe, which sets it to 0
        LOG_WARNING << "layer " << param.name() << ": lr_mult " << param.param(i).lr_mult() << " for statistic " << i
                    << " of a BatchNorm layer has no effect: statistics are not learned";
        continue;
      }
      throw Error(ErrorKind::kConfig,
                  str("lr_mult ", param.param(i).lr_mult(), " for statistic ", i, " of a BatchNorm layer"),
                  "statistics are not learned: remove the param or set lr_mult: 0")
          .in_field("param.lr_mult");
    }
  }
  // NVIDIA's files call it scale_filler, Intel's filler. A scale that nothing is said of begins as the identity.
  scale_filler_ = p.has_scale_filler() ? p.scale_filler() : p.filler();
  if (!p.has_scale_filler() && !p.has_filler()) scale_filler_.set_value(1);
}

bool BatchNormLayer::uses_global_stats() const {
  const auto& p = param().batch_norm_param();
  return p.has_use_global_stats() ? p.use_global_stats() : !training();
}

bool BatchNormLayer::has_scale() const {
  const auto& p = param().batch_norm_param();
  return p.scale_bias() || p.has_scale_filler() || p.has_filler() || p.has_bias_filler();
}

std::vector<Shape> BatchNormLayer::infer_tops(const std::vector<Shape>& bottoms) {
  require_elements(bottoms);
  const Shape& bottom = bottoms[0];
  if (bottom.axes() == 0) throw Error(ErrorKind::kConfig, "BatchNorm takes no scalar");
  const bool one_channel = bottom.axes() == 1;
  const int64_t channels = one_channel ? 1 : bottom[1];
  statistics_.fix({channels}, "statistics");
  batch_ = one_channel ? 1 : bottom[0];
  channels_ = channels;
  plane_ = one_channel ? bottom[0] : bottom.count(2);
  return bottoms;
}

std::vector<ParamDecl> BatchNormLayer::params() const {
  const Shape per_channel = statistics_.get();
  std::vector<ParamDecl> decls{{per_channel, nullptr, true}, {per_channel, nullptr, true}, {{1}, nullptr, true}};
  if (has_scale()) {
    const auto& p = param().batch_norm_param();
    decls.push_back({per_channel, &scale_filler_});
    decls.push_back({per_channel, &p.bias_filler()});
    check_filler(scale_filler_, per_channel, str("batch_norm_param.", p.has_filler() ? "filler" : "scale_filler"));
    check_filler(p.bias_filler(), per_channel, "batch_norm_param.bias_filler");
  }
  return decls;
}

ChannelNormPlan BatchNormLayer::plan() const {
  return {.batch = batch_,
          .channels = channels_,
          .plane = plane_,
          .eps = eps(),
          .fraction = fraction(),
          .unbiased = true,
          .stored = uses_global_stats(),
          .sync = synchronised(),
          .mean = 0,
          .variance = 1,
          .batches = 2,
          .scale = has_scale() ? 3 : -1,
          .shift = has_scale() ? 4 : -1};
}

double BatchNormLayer::forward_flops(const std::vector<Shape>&, const std::vector<Shape>& tops) const {
  return (uses_global_stats() ? 2.0 : 5.0) * static_cast<double>(tops[0].count());
}

namespace {

std::unique_ptr<Kernel> make_batch_norm_reference(const KernelRequest& request, std::string&) {
  return make_channel_norm_reference(request, request.layer<BatchNormLayer>().plan());
}

}  // namespace

ROBUSTA_REGISTER_LAYER("BatchNorm", BatchNormLayer);
ROBUSTA_REGISTER_KERNEL("BatchNorm", "reference", 0, make_batch_norm_reference);

}  // namespace robusta
