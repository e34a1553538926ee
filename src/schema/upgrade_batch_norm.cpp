// What programs have meant by BatchNorm layers: rates of statistics, and scales and shifts.

#include "schema/upgrade_steps.h"

namespace robusta {
namespace {

/// The first layer after `at` that reads `blob`, or null.
const caffe::LayerParameter* reader_of(const std::string& blob, const caffe::NetParameter& net, int at) {
  for (int i = at + 1; i < net.layer_size(); ++i) {
    for (const std::string& bottom : net.layer(i).bottom()) {
      if (bottom == blob) return &net.layer(i);
    }
  }
  return nullptr;
}

/// One scale and one shift per channel, as a BatchNorm layer may have itself.
bool is_pair_per_channel(const caffe::LayerParameter& layer) {
  const caffe::ScaleParameter& p = layer.scale_param();
  return layer.type() == "Scale" && layer.bottom_size() == 1 && p.axis() == 1 && p.num_axes() == 1 && p.bias_term();
}

}  // namespace

void upgrade_batch_norm(NetDef* net, UpgradeNotes* notes) {
  bool changed = false;
  for (caffe::LayerParameter& layer : *net->param.mutable_layer()) {
    if (layer.type() != "BatchNorm" || layer.param_size() != 3) continue;
    for (caffe::ParamSpec& spec : *layer.mutable_param()) {
      changed |= spec.lr_mult() != 0 || spec.decay_mult() != 0;
      spec.set_lr_mult(0);
      spec.set_decay_mult(0);
    }
  }
  if (changed) notes->done.emplace_back("set lr_mult and decay_mult of BatchNorm's statistics to 0");
}

void upgrade_second_pairs(NetDef* net, UpgradeNotes* notes) {
  bool changed = false;
  for (int i = 0; i < net->param.layer_size(); ++i) {
    caffe::LayerParameter& layer = *net->param.mutable_layer(i);
    const caffe::BatchNormParameter& p = layer.batch_norm_param();
    if (layer.type() != "BatchNorm" || layer.top_size() != 1 || !p.has_filler() || p.has_scale_filler()) continue;
    const caffe::LayerParameter* next = reader_of(layer.top(0), net->param, i);
    if (!next || !is_pair_per_channel(*next)) continue;
    layer.mutable_batch_norm_param()->clear_filler();
    layer.mutable_batch_norm_param()->clear_bias_filler();
    changed = true;
  }
  if (changed) {
    notes->done.emplace_back("left scale and shift of Intel's BatchNorm layers to the Scale layers that follow them");
  }
}

}  // namespace robusta
