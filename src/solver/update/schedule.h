/// Rate, momentum and weight decay over the course of training.
///
/// The rate is that of a policy (lr_policy.h), after a warm-up where one is asked for; momentum and decay follow
/// NVIDIA's policies. The settings are checked when a schedule is made.
#pragma once

#include <cstdint>

#include "schema/source.h"
#include "solver/update/lr_policy.h"

namespace robusta {

/// Momentum or weight decay of the iteration after `t` finished ones, whose rate is `rate`.
struct ValuePolicy {
  double (*value)(const caffe::SolverParameter& settings, int64_t t, double rate);
  bool needs_max_iter = false;
};

class Schedule {
 public:
  /// Throws Error{kConfig} at the line of the field: unknown policy (with the nearest name), stepsize 0, ...
  explicit Schedule(const SolverDef& solver);

  /// The rate of the iteration after `t` finished ones. `smoothed_loss` counts for plateau alone. To be called once per
  /// iteration, as a policy with memory takes at most one step per call.
  double rate(int64_t t, double smoothed_loss, PolicyState& state) const;

  /// Whether rate() looks at the loss.
  bool needs_loss() const { return policy_.needs_loss; }

  /// NVIDIA's momentum_policy: fixed, poly or opt.
  double momentum(int64_t t, double rate) const { return momentum_.value(param_, t, rate); }

  /// NVIDIA's weight_decay_policy: fixed or poly.
  double weight_decay(int64_t t) const { return weight_decay_.value(param_, t, 0); }

 private:
  caffe::SolverParameter param_;
  LrPolicy policy_;
  ValuePolicy momentum_, weight_decay_;
};

}  // namespace robusta
