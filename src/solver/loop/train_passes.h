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
  void begin_iteration() { failure_.reset(); }

  /// The pass of a sub-iteration of the running iteration. Every sub-iteration takes the next global batch, and each
  /// rank its part of it; those of an iteration and of all iterations follow each other without a gap.
  Pass pass(int sub_iteration) const;

  /// Which part of the global batch this rank takes from now on; at first that of its own number.
  void set_place(int place) { place_ = place; }

  /// Returns the loss; alone, throws Error{kNumeric} when it is not finite. One rank of several returns 0 then, and
  /// says so in failed(), since it has to tell the others first.
  double forward(const Pass& pass, ParamGate* gate = nullptr);
  /// The same of a pass that has run: forward() looks at its loss so.
  double check_loss(double loss, const Pass& pass);
  /// The same in two, as those of the net: what is enqueued in between runs on while the host waits.
  void start_forward(const Pass& pass, PassPrelude* prelude);
  double finish_forward(const Pass& pass);
  /// Forward and backward, with the next batch on its way, before the host waits for the loss: a GPU finds work when
  /// forward is done. No gradient is delivered. `prelude`: what the pass begins with, if anything.
  double forward_and_backward_ahead(int sub_iteration, PassPrelude* prelude);
  /// The batch of the next pass; nothing after the last one of the training: what is wrong with a batch that nobody
  /// takes is not asked.
  void prefetch_after(int sub_iteration);

  /// An error that this rank keeps until the others know of it, as it has promised them gradients.
  void note_failure(const Error& error) {
    if (!failure_) failure_ = error;
  }
  bool failed() const { return failure_.has_value(); }
  /// Runs the work, in which this rank tells the others: what goes wrong there does not hide why.
  template <typename Work>
  auto unless_failed(const Work& work) {
    try {
      return work();
    } catch (const Error&) {
      if (failure_) throw *failure_;
      throw;
    }
  }
  /// `ranks`: how many have failed; throws on all when there are any. Collective.
  void throw_failed(double ranks);
  /// The same where only the ranks know that have summed it. Not collective.
  void throw_failed_here(double ranks);

 private:
  void wait_for_data();

  Training& training_;
  const OnForward& on_forward_;
  std::optional<Error> failure_;  ///< this rank's loss is not finite, or not there
  int place_;
  bool has_run_ = false;  ///< a whole iteration
};

}  // namespace robusta
