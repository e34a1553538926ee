/// Rates that follow the norms of each parameter: layers whose gradients are large for their weights move no further
/// than others.
///
///   local_lr_auto (Intel)  LARS: rate * local_gw_ratio * |w| / (|g| + weight_decay * |w|)
///   larc (NVIDIA)          LARC: local = (1 - momentum) * larc_eta * |w| / |g|, then by larc_policy
///                          scale: rate * local      clip: min(rate, local)
///
/// g is the gradient as the update takes it, without decay: the mean over ranks and iter_size, unscaled and clipped.
/// SAG steps along its history h: there LARC's local is larc_eta * |w| / |h|, with h as the last iteration left it.
/// A factor is 1 where one of its norms is 0. It stands in place of lr_mult, which counts as zero or not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "layers/kit/param.h"
#include "schema/source.h"
#include "solver/update/gradient_norm.h"
#include "solver/update/update_rule.h"

namespace robusta {

class LocalRates {
 public:
  /// Throws Error{kConfig} for settings that contradict each other or that the rule cannot have, Error{kUnsupported}.
  LocalRates(const SolverDef& solver, const UpdateRule& rule);

  /// Norms decide the rates of some parameters.
  bool active() const { return trust_ || larc_norm_ != LarcNorm::kNone; }

  /// What decides the rate of one parameter in one iteration.
  struct Step {
    double rate, momentum, weight_decay;
    double gradient_scale;  ///< of the gradient in memory to that of the update
  };
  /// A parameter's arrays, or a part of each; `history`: the rule's, as long as the others.
  struct Arrays {
    Tensor weights, gradient;
    std::span<void* const> history;
  };
  /// Those whose norms decide its rate; none where none do.
  std::vector<Tensor> arrays_of(const Param& param, const Arrays& all) const;
  /// `norms`: of these arrays.
  double of(const Param& param, const Step& step, std::span<const Norms> norms) const;

 private:
  double lars(const Step& step, std::span<const Norms> norms) const;
  double larc(const Step& step, std::span<const Norms> norms) const;

  std::optional<double> trust_;  ///< LARS' coefficient; none: LARS is off
  LarcNorm larc_norm_ = LarcNorm::kNone;
  double eta_ = 0;  ///< the trust that a layer's norms are given
  bool clips_ = false;
};

}  // namespace robusta
