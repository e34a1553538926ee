// Dynamic loss scaling: Micikevicius et al. 2018, "Mixed Precision Training", section 3.2.
#include "solver/loop/loss_scaling.h"

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

void require_in_range(double scale, const std::string& file) {
  if (scale >= LossScale::kLeast && scale <= LossScale::kMost) return;
  throw Error(ErrorKind::kConfig, str("global_grad_scale is ", scale),
              str("give a number between ", LossScale::kLeast, " and ", LossScale::kMost, ", or leave it out"))
      .at(file);
}

}  // namespace

void begin_loss_scale(Training& training) {
  LossScale& scale = training.state.loss_scale;
  if (!training.stores(DType::kF16)) {
    scale.value = 0;
    return;
  }
  const NetDef& net = training.net.graph().def;
  if (!scale.active())
    scale.value = net.param.has_global_grad_scale() ? net.param.global_grad_scale() : LossScale::kStart;
  require_in_range(scale.value, net.file);
  LOG_INFO << "Gradients of f16 activations are scaled, by " << scale.value << " to begin with";
  training.set_loss_scale(scale.value);
}

void adapt_loss_scale(Training& training) {
  LossScale& scale = training.state.loss_scale;
  const bool skipped = training.skipped();
  const double used = scale.value;
  scale.note(!skipped);
  if (skipped) {
    LOG_INFO << "Iteration " << training.state.iter << ": gradients are not finite with loss scale " << used
             << ": no update, loss scale " << scale.value << " (skipped steps: " << scale.skipped << ")";
  }
  if (scale.exhausted()) {
    training.ranks.together([&] {
      throw Error(ErrorKind::kNumeric,
                  str("at iteration ", training.state.iter, " gradients are not finite with any loss scale"),
                  "lower base_lr or set clip_gradients; -precision bf16 or f32 tells whether f16 is the cause");
    });
  }
  training.set_loss_scale(scale.value);
}

}  // namespace robusta
