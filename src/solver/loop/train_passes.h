/// Forward and backward of the train net: which samples each pass takes, and what is looked at in its loss.
#pragma once

#include <functional>
#include <optional>

#include "robusta/error.h"
#include "solver/loop/training.h"

namespace robusta {

class TrainPasses {
 public:
  /// Told the loss of every forward pass.
  using OnForward = std::function<void(double loss)>;
  /// References are kept.
  TrainPasses(Training& training, const OnForward& on_forward)
      : training_(training), on_forward_(on_forward), place_(training.ranks.learner()) {}

  /// What the last iteration has found is forgotten: whoever drives the solver may go on after an error.
  void begin_iteration() { not_finite_.reset(); }

  /// The pass of a sub-iteration of the running iteration. Every sub-iteration takes the next global batch, and each
  /// rank its part of it; those of an iteration and of all iterations follow each other without a gap.
  Pass pass(int sub_iteration) const;

  /// Which part of the global batch this rank takes from now on; at first that of its own number.
  void set_place(int place) { place_ = place; }

  /// Returns the loss; alone, throws Error{kNumeric} when it is not finite. One rank of several returns 0 then, and
  /// says so in not_finite(), since it has to tell the others first.
  double forward(const Pass& pass, ParamGate* gate = nullptr);
  /// The same of a pass that has run: forward() looks at its loss so.
  double check_loss(double loss, const Pass& pass);
  /// Forward and backward, with the next batch on its way, before the host waits for the loss: a GPU finds work when
  /// forward is done. No gradient is delivered. `prelude`: what the pass begins with, if anything.
  double forward_and_backward_ahead(int sub_iteration, PassPrelude* prelude);
  /// The batch of the next pass; nothing after the last one of the training: what is wrong with a batch that nobody
  /// takes is not asked.
  void prefetch_after(int sub_iteration);

  bool not_finite() const { return not_finite_.has_value(); }
  /// `ranks`: how many have a loss that is not finite; throws on all when there are any. Collective.
  void throw_not_finite(double ranks);
  /// The same where only the ranks know that have summed it. Not collective.
  void throw_not_finite_here(double ranks);

 private:
  Training& training_;
  const OnForward& on_forward_;
  std::optional<Error> not_finite_;  ///< this rank's loss is
  int place_;
  bool has_run_ = false;  ///< a whole iteration
};

}  // namespace robusta
