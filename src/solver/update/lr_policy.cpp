#include "solver/update/lr_policy.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr double kPi = 3.14159265358979323846;

using Solver = caffe::SolverParameter;
using Policy = std::function<double(int64_t, double, PolicyState&)>;

[[noreturn]] void refuse(const SolverDef& solver, const char* field, const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field).at(solver.where(field));
}

void require_gamma(const SolverDef& solver) {
  if (solver.param.gamma() >= 0) return;
  refuse(solver, "gamma", str("gamma ", solver.param.gamma(), " is negative"), "give a gamma of at least 0");
}

void require_max_iter(const SolverDef& solver) {
  if (solver.param.max_iter() > 0) return;
  refuse(solver, "max_iter", str("lr_policy \"", solver.param.lr_policy(), "\" needs max_iter"),
         "set max_iter to the number of iterations");
}

/// Share of the training that is done, 0..1.
double progress(const Solver& p, int64_t t) {
  return std::min(1.0, static_cast<double>(t) / std::max(1, p.max_iter()));
}

double steps_taken(const Solver& p, int steps) { return p.base_lr() * std::pow(static_cast<double>(p.gamma()), steps); }

Policy fixed(const SolverDef& solver) {
  return [p = solver.param](int64_t, double, PolicyState&) { return static_cast<double>(p.base_lr()); };
}

Policy step(const SolverDef& solver) {
  require_gamma(solver);
  if (solver.param.stepsize() <= 0) {
    refuse(solver, "stepsize", str("stepsize is ", solver.param.stepsize()),
           "lr_policy \"step\" needs the number of iterations between two steps");
  }
  return [p = solver.param](int64_t t, double, PolicyState& state) {
    state.current_step = static_cast<int>(t / p.stepsize());
    return steps_taken(p, state.current_step);
  };
}

Policy exponential(const SolverDef& solver) {
  require_gamma(solver);
  return [p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() * std::pow(static_cast<double>(p.gamma()), static_cast<double>(t));
  };
}

Policy inverse(const SolverDef& solver) {
  require_gamma(solver);
  return [p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() * std::pow(1.0 + static_cast<double>(p.gamma()) * static_cast<double>(t), -p.power());
  };
}

Policy multistep(const SolverDef& solver) {
  require_gamma(solver);
  return [p = solver.param](int64_t t, double, PolicyState& state) {
    const bool more = state.current_step < p.stepvalue_size();
    if (more && t >= p.stepvalue(state.current_step)) ++state.current_step;
    return steps_taken(p, state.current_step);
  };
}

Policy poly(const SolverDef& solver) {
  require_max_iter(solver);
  return [p = solver.param](int64_t t, double, PolicyState&) {
    return p.min_lr() + (p.base_lr() - p.min_lr()) * std::pow(1.0 - progress(p, t), static_cast<double>(p.power()));
  };
}

/// A negative gamma lets the rate fall; BVLC refuses it, Intel and NVIDIA take it, and it is what is meant mostly.
Policy sigmoid(const SolverDef& solver) {
  return [p = solver.param](int64_t t, double, PolicyState&) {
    return p.base_lr() / (1.0 + std::exp(-p.gamma() * (static_cast<double>(t) - p.stepsize())));
  };
}

Policy plateau(const SolverDef& solver) {
  require_gamma(solver);
  if (solver.param.plateau_winsize_size() == 0) {
    refuse(solver, "lr_policy", "lr_policy \"plateau\" needs plateau_winsize",
           "give one plateau_winsize per step: how many iterations to wait for a lower loss");
  }
  return [p = solver.param](int64_t t, double smoothed_loss, PolicyState& state) {
    const auto loss = static_cast<float>(smoothed_loss);
    if (loss < state.minimum_loss) {
      state.minimum_loss = loss;
      state.iter_last_event = static_cast<int>(t);
    }
    const int k = state.current_step;
    if (k < p.plateau_winsize_size() && t >= int64_t{state.iter_last_event} + p.plateau_winsize(k)) {
      ++state.current_step;
      state.iter_last_event = static_cast<int>(t);
    }
    return steps_taken(p, state.current_step);
  };
}

Policy multifixed(const SolverDef& solver) {
  const Solver& param = solver.param;
  if (param.stagelr_size() == 0 || param.stagelr_size() != param.stageiter_size()) {
    refuse(solver, "lr_policy", str(param.stagelr_size(), " stagelr for ", param.stageiter_size(), " stageiter"),
           "lr_policy \"multifixed\" needs one stageiter, the last iteration of the stage, for each stagelr");
  }
  return [p = param](int64_t t, double, PolicyState&) {
    int stage = 0;
    while (stage + 1 < p.stagelr_size() && t > p.stageiter(stage)) ++stage;
    return static_cast<double>(p.stagelr(stage));
  };
}

/// Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5, one period.
Policy cosine(const SolverDef& solver) {
  require_max_iter(solver);
  return [p = solver.param](int64_t t, double, PolicyState&) {
    return p.min_lr() + 0.5 * (p.base_lr() - p.min_lr()) * (1.0 + std::cos(kPi * progress(p, t)));
  };
}

const std::map<std::string, Policy (*)(const SolverDef&)>& policies() {
  static const std::map<std::string, Policy (*)(const SolverDef&)> kPolicies = {
      {"cosine", cosine},         {"exp", exponential},     {"fixed", fixed},     {"inv", inverse},
      {"multifixed", multifixed}, {"multistep", multistep}, {"plateau", plateau}, {"poly", poly},
      {"sigmoid", sigmoid},       {"step", step},
  };
  return kPolicies;
}

void require_known(const SolverDef& solver, const char* field, const std::string& given,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  refuse(solver, field, str("unknown ", field, " \"", given, "\"", did_you_mean(given, known)), "known: " + list);
}

}  // namespace

std::vector<std::string> lr_policy_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : policies()) names.push_back(name);
  return names;
}

Schedule::Schedule(const SolverDef& solver) : param_(solver.param) {
  require_known(solver, "lr_policy", param_.lr_policy(), lr_policy_names());
  require_known(solver, "momentum_policy", param_.momentum_policy(), {"fixed", "opt", "poly"});
  require_known(solver, "weight_decay_policy", param_.weight_decay_policy(), {"fixed", "poly"});
  if (param_.momentum_policy() == "poly" || param_.weight_decay_policy() == "poly") require_max_iter(solver);
  if (param_.min_lr() > param_.base_lr() && param_.lr_policy() != "multifixed") {
    refuse(solver, "min_lr", str("min_lr ", param_.min_lr(), " is above base_lr ", param_.base_lr()), "lower min_lr");
  }
  if (param_.warmup_iter() > 0 && param_.rampup_interval() > 0) {
    refuse(solver, "warmup_iter", "both warmup_iter and rampup_interval are given", "keep one of them");
  }
  policy_ = policies().at(param_.lr_policy())(solver);
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
    rate = policy_(t, smoothed_loss, state);
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
