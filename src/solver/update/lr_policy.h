/// Learning rates over the course of training: the contract of policies, and their registry.
///
/// A policy is a pure function of the number of iterations done, but for those that remember (multistep, plateau): what
/// they remember is a PolicyState, which the caller keeps and saves. A policy is one file in policies/ and registers
/// itself; its settings are checked when it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schema/source.h"

namespace robusta {

/// What a policy remembers from one iteration to the next.
struct PolicyState {
  int current_step = 0;        ///< steps taken (step, multistep, plateau)
  float minimum_loss = 1e38f;  ///< plateau: the lowest smoothed loss so far
  int iter_last_event = 0;     ///< plateau: iteration at which that fell or a step was taken
};

struct LrPolicy {
  /// The rate of the iteration after `t` finished ones.
  std::function<double(int64_t t, double smoothed_loss, PolicyState& state)> rate;
  bool needs_loss = false;  ///< rate() looks at the loss
};

/// The policy named by `lr_policy`. Throws Error{kConfig} at the line of the field for an unknown name (with the
/// nearest one) and for settings that the policy cannot have.
LrPolicy make_lr_policy(const SolverDef& solver);

/// Names of all policies, sorted.
std::vector<std::string> lr_policy_names();

/// At namespace scope: `static const bool registered = register_lr_policy("fixed", make_fixed);`
bool register_lr_policy(const std::string& name, LrPolicy (*make)(const SolverDef&));

}  // namespace robusta
