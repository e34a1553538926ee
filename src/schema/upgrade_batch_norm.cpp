// What programs have meant by the rates of BatchNorm's statistics.

#include "schema/upgrade_steps.h"

namespace robusta {

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

}  // namespace robusta
