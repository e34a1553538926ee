/// What several policies require of the solver's file, and what they compute from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "base/str.h"
#include "robusta/error.h"
#include "schema/source.h"

namespace robusta {

/// Throws Error{kConfig} at the line of `field`.
[[noreturn]] inline void refuse_setting(const SolverDef& solver, const char* field, const std::string& cause,
                                        const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field).at(solver.where(field));
}

inline void require_gamma(const SolverDef& solver) {
  if (solver.param.gamma() >= 0) return;
  refuse_setting(solver, "gamma", str("gamma ", solver.param.gamma(), " is negative"), "give a gamma of at least 0");
}

inline void require_max_iter(const SolverDef& solver) {
  if (solver.param.max_iter() > 0) return;
  refuse_setting(solver, "max_iter", str("lr_policy \"", solver.param.lr_policy(), "\" needs max_iter"),
                 "set max_iter to the number of iterations");
}

/// Share of the training that is done after `t` iterations, 0..1.
inline double progress(const caffe::SolverParameter& p, int64_t t) {
  return std::min(1.0, static_cast<double>(t) / std::max(1, p.max_iter()));
}

/// The rate after so many steps, each of which multiplies it by gamma.
inline double rate_after_steps(const caffe::SolverParameter& p, int steps) {
  return p.base_lr() * std::pow(static_cast<double>(p.gamma()), steps);
}

}  // namespace robusta
