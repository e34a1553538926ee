/// What several policies require of the solver's file, and what they compute from it; tables of what settings name.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"
#include "schema/source.h"

namespace robusta {

/// Throws Error{kConfig} at the line of `field`.
[[noreturn]] inline void refuse_setting(const SolverDef& solver, const char* field, const std::string& cause,
                                        const std::string& fix) {
  throw Error(ErrorKind::kConfig, cause, fix).in_field(field).at(solver.where(field));
}

/// Sorted.
template <typename T>
std::vector<std::string> names_of(const std::map<std::string, T>& table) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : table) names.push_back(name);
  return names;
}

/// What `name`, the value of `field`, stands for. Throws Error{kConfig} at the line of the field, with the nearest
/// name, for one that the table does not have.
template <typename T>
const T& named(const SolverDef& solver, const char* field, const std::string& name,
               const std::map<std::string, T>& table) {
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  std::string known;
  for (const auto& [each, entry] : table) known += (known.empty() ? "" : ", ") + each;
  refuse_setting(solver, field, str("unknown ", field, " \"", name, "\"", did_you_mean(name, names_of(table))),
                 "known: " + known);
}

inline void require_gamma(const SolverDef& solver) {
  // What is not finite, check_solver() refuses.
  if (solver.param.gamma() >= 0 || !std::isfinite(solver.param.gamma())) return;
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
