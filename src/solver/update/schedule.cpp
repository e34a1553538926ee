// Rate, momentum and weight decay of each iteration: the policy's, after a warm-up (Goyal et al. 2017, "Accurate, Large
// Minibatch SGD", section 2.2; Intel's warmup_iter is linear, NVIDIA's rampup_interval quadratic).
#include "solver/update/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

using Settings = caffe::SolverParameter;

/// From `start` to `end` in max_iter iterations.
double polynomial(const Settings& p, int64_t t, double start, double end, double power) {
  return start + (end - start) * std::pow(progress(p, t), power);
}

double optimal_momentum(const Settings& p, int64_t, double rate) {
  const double root = 1.0 - 0.5 * std::sqrt(rate);
  return p.has_max_momentum() ? std::min(root * root, static_cast<double>(p.max_momentum())) : root * root;
}

const std::map<std::string, ValuePolicy>& momentum_policies() {
  static const std::map<std::string, ValuePolicy> all = {
      {"fixed", {[](const Settings& p, int64_t, double) -> double { return p.momentum(); }}},
      {"opt", {optimal_momentum}},
      {"poly",
       {[](const Settings& p, int64_t t, double) {
          return polynomial(p, t, p.momentum(), p.max_momentum(), p.momentum_power());
        },
        true}}};
  return all;
}

const std::map<std::string, ValuePolicy>& weight_decay_policies() {
  static const std::map<std::string, ValuePolicy> all = {
      {"fixed", {[](const Settings& p, int64_t, double) -> double { return p.weight_decay(); }}},
      {"poly",
       {[](const Settings& p, int64_t t, double) {
          return polynomial(p, t, p.weight_decay(), p.max_weight_decay(), p.weight_decay_power());
        },
        true}}};
  return all;
}

}  // namespace

Schedule::Schedule(const SolverDef& solver)
    : param_(solver.param),
      policy_(make_lr_policy(solver)),
      momentum_(named(solver, "momentum_policy", param_.momentum_policy(), momentum_policies())),
      weight_decay_(named(solver, "weight_decay_policy", param_.weight_decay_policy(), weight_decay_policies())) {
  if (momentum_.needs_max_iter || weight_decay_.needs_max_iter) require_max_iter(solver);
  // What is not finite, check_solver() refuses.
  const bool both = param_.has_min_lr() && std::isfinite(param_.min_lr()) && std::isfinite(param_.base_lr());
  if (both && param_.min_lr() > param_.base_lr() && param_.lr_policy() != "multifixed") {
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

}  // namespace robusta
