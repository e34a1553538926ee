// LARS: You, Gitman and Ginsburg 2017, "Large Batch Training of Convolutional Networks", as Intel's Caffe has it. LARC:
// Ginsburg, Gitman and You 2018, "Large Batch Training of Convolutional Networks with Layer-wise Adaptive Rate
// Scaling", as NVIDIA's Caffe has it.
#include "solver/update/local_rates.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/log.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/known_names.h"
#include "solver/update/policy_settings.h"

namespace robusta {
namespace {

bool larc_clips(const SolverDef& solver) {
  static const std::map<std::string, bool> known = {{"clip", true}, {"scale", false}};
  return named(solver, "larc_policy", solver.param.larc_policy(), known);
}

void check_larc(const SolverDef& solver, const UpdateRule& rule) {
  const caffe::SolverParameter& p = solver.param;
  if (rule.larc_norm() == LarcNorm::kNone) {
    refuse_setting(solver, "larc", str("larc with solver type ", p.type()),
                   "LARC is for SGD and SAG: remove larc (NVIDIA's Caffe ignores it here), or use type \"LAMB\"");
  }
  if (p.local_lr_auto()) {
    refuse_setting(solver, "larc", "both larc and local_lr_auto give each layer a rate", "keep one of them");
  }
  if (!(p.larc_eta() > 0)) {
    refuse_setting(solver, "larc_eta", str("larc_eta is ", p.larc_eta()), "give a positive number, such as 0.001");
  }
  if (p.larc_turbo()) {
    throw not_in_this_build("larc_turbo", "NVIDIA",
                            "remove it: it lowers rates by a running mean that no snapshot of NVIDIA's keeps")
        .at(solver.where("larc_turbo"));
  }
}

double norm_of(const Norms& norms) { return std::sqrt(norms.square_sum); }

}  // namespace

LocalRates::LocalRates(const SolverDef& solver, const UpdateRule& rule) {
  if (solver.param.larc()) {
    check_larc(solver, rule);
    larc_norm_ = rule.larc_norm();
    eta_ = solver.param.larc_eta();
    clips_ = larc_clips(solver);
  }
  if (solver.param.larc_turbo() && !solver.param.larc()) {
    LOG_WARNING << "larc_turbo changes nothing without larc";
  }
  if (!solver.param.local_lr_auto()) return;
  if (rule.adapts()) {
    refuse_setting(solver, "local_lr_auto", str("local_lr_auto with solver type ", solver.param.type()),
                   str(solver.param.type(), " adapts to each layer itself: remove local_lr_auto"));
  }
  trust_ = solver.param.local_gw_ratio();
}

std::vector<Tensor> LocalRates::arrays_of(const Param& param, const Arrays& all) const {
  if (param.lr_mult != 0 && trust_) return {all.weights, all.gradient};
  if (param.lr_mult <= 0 || larc_norm_ == LarcNorm::kNone) return {};
  if (larc_norm_ == LarcNorm::kHistory) return {all.weights, {all.weights.desc, all.history[0]}};
  return {all.weights, all.gradient};
}

double LocalRates::of(const Param& param, const Step& step, std::span<const Norms> norms) const {
  if (norms.empty()) return step.rate * param.lr_mult;
  return trust_ ? lars(step, norms) : larc(step, norms);
}

double LocalRates::lars(const Step& step, std::span<const Norms> norms) const {
  const double weight = norm_of(norms[0]), gradient = norm_of(norms[1]) * step.gradient_scale;
  if (weight == 0 || gradient == 0) return step.rate;
  return step.rate * *trust_ * weight / (gradient + step.weight_decay * weight);
}

double LocalRates::larc(const Step& step, std::span<const Norms> norms) const {
  const bool by_history = larc_norm_ == LarcNorm::kHistory;
  const double weight = norm_of(norms[0]), direction = norm_of(norms[1]) * (by_history ? 1 : step.gradient_scale);
  const double damping = by_history ? 1 : 1 - step.momentum;
  const double local = weight > 0 && direction > 0 ? damping * eta_ * weight / direction : 1;
  return clips_ ? std::min(step.rate, local) : step.rate * local;
}

}  // namespace robusta
