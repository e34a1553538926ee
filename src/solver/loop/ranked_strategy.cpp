// Synchronous data parallelism: every rank computes the gradients of its part of a global batch, and all make the same
// update from their sum (Goyal et al. 2017, "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", section 3).
// Loss and wishes of the ranks ride behind the gradients as votes.
#include "solver/loop/iteration_strategy.h"

namespace robusta {
namespace {

class OverRanks : public IterationStrategy {
 public:
  OverRanks(Training& training, TrainPasses& passes, RankedUpdate& ranked, OwnVotes votes)
      : training_(training),
        passes_(passes),
        ranked_(ranked),
        votes_(std::move(votes)),
        on_gpu_(!training.net.options().device->is_host()) {}

  /// The loss of all ranks is known only when all gradients are summed.
  bool must_hold() const override { return training_.schedule.needs_loss(); }

  Votes run(const Iteration& iteration) override {
    const int batches = training_.param().iter_size();
    if (iteration.shows_gradients) ranked_.show_weights();
    const bool prefetches = on_gpu_ && !iteration.debug && !training_.recorder;
    double loss = 0;
    for (int sub = 0; sub < batches; ++sub) {
      const Pass pass = passes_.pass(sub);
      loss += passes_.forward(pass, &ranked_);
      const bool last = sub + 1 == batches;
      if (last) begin_sums(loss / batches, iteration);
      training_.net.backward(pass, sub > 0, last ? &ranked_ : nullptr);
      if (training_.recorder) training_.recorder->end_step();
      if (prefetches) passes_.prefetch_after(sub);
    }
    return agree(iteration.hold);
  }
  /// What is not updated yet is when the next forward asks for it.
  void end(const Iteration& iteration) override {
    if (iteration.hold) ranked_.finish();
  }
  void finish_updates() override { ranked_.settle(); }
  BucketReducer::Times take_times() override { return ranked_.reducer().take_times(); }

 private:
  void begin_sums(double loss, const Iteration& iteration) {
    ranked_.finish();
    if (!must_hold()) begin_updates(training_, iteration.hold);
    Votes mine = votes_();
    mine.loss = loss;
    mine.not_finite = passes_.not_finite() ? 1 : 0;
    ranked_.begin(mine, {.hold = iteration.hold, .shows_gradients = iteration.shows_gradients});
  }

  /// After backward: what all ranks have to say. From here on the state holds the loss of all.
  Votes agree(bool hold) {
    const Votes votes = ranked_.agree();
    throw_not_finite(votes);
    training_.state.losses.add(votes.loss / votes.ranks);
    if (must_hold()) begin_updates(training_, hold);
    return votes;
  }

  /// Where a part of the ranks has voted the others do not know of it, and go on until they are told.
  void throw_not_finite(const Votes& votes) {
    if (static_cast<int>(votes.ranks) < training_.ranks.count()) return passes_.throw_not_finite_here(votes.not_finite);
    passes_.throw_not_finite(votes.not_finite);
  }

  Training& training_;
  TrainPasses& passes_;
  RankedUpdate& ranked_;
  OwnVotes votes_;
  bool on_gpu_;  // the next batch is then on its way during an iteration
};

}  // namespace

std::unique_ptr<IterationStrategy> make_ranked_strategy(Training& training, TrainPasses& passes, RankedUpdate& ranked,
                                                        IterationStrategy::OwnVotes votes) {
  return std::make_unique<OverRanks>(training, passes, ranked, std::move(votes));
}

}  // namespace robusta
