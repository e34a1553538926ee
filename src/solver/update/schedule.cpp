// Rate, momentum and weight decay of each iteration: the policy's, after a warm-up (Goyal et al. 2017, "Accurate, Large
// Minibatch SGD", section 2.2; Intel's warmup_iter is linear, NVIDIA's rampup_interval quadratic).
#include "solver/update/schedule.h"

#include <algorithm>
#include <cmath>

#include "solver/update/policy_settings.h"

namespace robusta {

Schedule::Schedule(const SolverDef& solver) : param_(solver.param), policy_(make_lr_policy(solver)) {
  require_known(solver, "momentum_policy", param_.momentum_policy(), {"fixed", "opt", "poly"});
  require_known(solver, "weight_decay_policy", param_.weight_decay_policy(), {"fixed", "poly"});
  if (param_.momentum_policy() == "poly" || param_.weight_decay_policy() == "poly") require_max_iter(solver);
  if (param_.min_lr() > param_.base_lr() && param_.lr_policy() != "multifixed") {
    refuse_setting(solver, "min_lr", str("min_lr ", param_.min_lr(), " is above base_lr ", param_.base_lr()),
                   "lower min_lr");
  }
  if (param_.warmup_iter() > 0 && param_.rampup_interval() > 0) {
    refuse_setting(solver, "warmup_iter", "both warmup_iter and rampup_interval are given", "keep one of them");
  }
}

double Schedule::rate(int64_t t, double smoothed_loss, PolicyState& state) const {
  const double now = static_cast<double>(t);
  double rate;
  if (t < param_.warmup_iter()) {
    const double start = param_.warmup_start_lr();
    rate = start + (param_.base_lr() - start) * now / param_.warmup_iter();
  } else if (t < param_.rampup_interval()) {
    const double start = param_.rampup_lr(), share = now / param_.rampup_interval();
    rate = start + (param_.base_lr() - start) * share * share;
  } else {
    rate = policy_.rate(t, smoothed_loss, state);
  }
  return param_.has_min_lr() ? std::max(rate, static_cast<double>(param_.min_lr())) : rate;
}

double Schedule::momentum(int64_t t, double rate) const {
  const double start = param_.momentum();
  if (param_.momentum_policy() == "poly") {
    return start + (param_.max_momentum() - start) *
                       std::pow(progress(param_, t), static_cast<double>(param_.momentum_power()));
  }
  if (param_.momentum_policy() == "opt") {
    const double root = 1.0 - 0.5 * std::sqrt(rate);
    return param_.has_max_momentum() ? std::min(root * root, static_cast<double>(param_.max_momentum())) : root * root;
  }
  return start;
}

double Schedule::weight_decay(int64_t t) const {
  const double start = param_.weight_decay();
  if (param_.weight_decay_policy() != "poly") return start;
  return start + (param_.max_weight_decay() - start) *
                     std::pow(progress(param_, t), static_cast<double>(param_.weight_decay_power()));
}

}  // namespace robusta
