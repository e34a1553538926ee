/// Learning rates over the course of training: the policies of BVLC, Intel and NVIDIA, and cosine.
///
/// A policy is a pure function of the number of iterations done, but for those that remember (multistep, plateau): what
/// they remember is a PolicyState, which the caller keeps and saves. The parameters are checked when a schedule is
/// made.
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

/// Names of all policies, sorted.
std::vector<std::string> lr_policy_names();

/// Rate, momentum and weight decay of every iteration.
class Schedule {
 public:
  /// Throws Error{kConfig} at the line of the field: unknown policy (with the nearest name), stepsize 0, ...
  explicit Schedule(const SolverDef& solver);

  /// The rate of the iteration after `t` finished ones. `smoothed_loss` counts for plateau alone. To be called once per
  /// iteration, as a policy with memory takes at most one step per call.
  double rate(int64_t t, double smoothed_loss, PolicyState& state) const;

  /// Whether rate() looks at the loss.
  bool needs_loss() const { return param_.lr_policy() == "plateau"; }

  /// NVIDIA's momentum_policy: fixed, poly or opt.
  double momentum(int64_t t, double rate) const;

  /// NVIDIA's weight_decay_policy: fixed or poly.
  double weight_decay(int64_t t) const;

 private:
  using Policy = std::function<double(int64_t t, double smoothed_loss, PolicyState& state)>;

  caffe::SolverParameter param_;
  Policy policy_;
};

}  // namespace robusta
