// Synchronous data parallelism: every rank computes the gradients of its part of a global batch, and all make the same
// update from their sum (Goyal et al. 2017, "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", section 3).
// Loss and wishes of the ranks ride behind the gradients as votes.
//
// What always holds: a rank whose forward pass turns out to have failed when gradients are promised already gives them
// all the same, says so in its votes, and nobody uses them. An error that keeps it from giving them ends it at once,
// and the watch tells the others.
#include <algorithm>

#include "solver/loop/iteration_strategy.h"
#include "solver/update/last_update.h"

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
    const auto propagate = [&](const Pass& pass, int sub, GradientSink* sink) {
      training_.net.backward(pass, sub > 0, sink);
      if (training_.recorder) training_.recorder->end_step();
      if (prefetches) passes_.prefetch_after(sub);
    };
    for (int sub = 0;; ++sub) {
      const Pass pass = passes_.pass(sub);
      loss += passes_.forward(pass, &ranked_);
      if (sub + 1 < batches) {
        propagate(pass, sub, nullptr);
        continue;
      }
      const Votes votes = hold_round([&] {
        begin_sums(loss / batches, iteration);
        propagate(pass, sub, &ranked_);
      });
      return conclude(votes, iteration.hold, must_hold());
    }
  }
  /// What is not updated yet is when the next forward asks for it.
  void end(const Iteration& iteration) override {
    if (iteration.hold) ranked_.finish();
  }
  void finish_updates() override { ranked_.settle(); }
  BucketReducer::Times take_times() override { return ranked_.reducer().take_times(); }

 protected:
  /// `work` begins a round, and gives all its gradients. Then all ranks have to say something. What ends the round
  /// before is an error of this rank alone: it must not wait for sums that are not posted any more.
  template <typename Work>
  Votes hold_round(const Work& work) {
    try {
      work();
      return passes_.unless_failed([&] { return ranked_.agree(); });
    } catch (...) {
      ranked_.abandon();
      throw;
    }
  }

  /// From here on the state holds the loss of all.
  Votes conclude(const Votes& votes, bool hold, bool begins_updates) {
    throw_failed(votes);
    training_.state.losses.add(votes.loss / votes.ranks);
    if (begins_updates) begin_updates(training_, hold);
    return votes;
  }

  Votes own_votes(double loss) const {
    Votes mine = votes_();
    mine.loss = loss;
    mine.failed = passes_.failed() ? 1 : 0;
    return mine;
  }

  Training& training_;
  TrainPasses& passes_;
  RankedUpdate& ranked_;

 private:
  void begin_sums(double loss, const Iteration& iteration) {
    ranked_.finish();
    if (!must_hold()) begin_updates(training_, iteration.hold);
    ranked_.begin(own_votes(loss), {.hold = iteration.hold, .shows_gradients = iteration.shows_gradients});
  }

  /// Where a part of the ranks has voted the others do not know of it, and go on until they are told.
  void throw_failed(const Votes& votes) {
    if (static_cast<int>(votes.ranks) < training_.ranks.count()) return passes_.throw_failed_here(votes.failed);
    passes_.throw_failed(votes.failed);
  }

  OwnVotes votes_;
  bool on_gpu_;  // the next batch is then on its way during an iteration
};

/// Backward and its sums are enqueued before the host waits for the loss, which only the last sum waits for. All
/// updates come at once when the votes are there: an iteration that went wrong on any rank has changed nothing on any.
/// The next forward pass begins with them, in the same recording.
class OverRanksAhead : public OverRanks {
 public:
  using OverRanks::OverRanks;

  Votes run(const Iteration& iteration) override {
    late_ = !iteration.debug && !training_.recorder;
    // Both look at what is done step by step.
    if (!late_ || ranked_.is_under_way()) ranked_.finish();
    if (!late_) return OverRanks::run(iteration);
    const int batches = training_.param().iter_size();
    double loss = 0;
    for (int sub = 0; sub + 1 < batches; ++sub) {
      const Pass pass = start(sub);
      training_.net.backward(pass, sub > 0);
      passes_.prefetch_after(sub);
      loss += finish_promised(pass);
    }
    const int last = batches - 1;
    const Pass pass = start(last);
    const Votes votes = hold_round([&] {
      ranked_.begin({.hold = iteration.hold, .shows_gradients = iteration.shows_gradients, .late = true});
      training_.net.backward(pass, last > 0, &ranked_);
      loss += finish_promised(pass);
      ranked_.vote(own_votes(loss / batches));
      if (!passes_.failed()) passes_.prefetch_after(last);
    });
    return conclude(votes, iteration.hold, true);
  }
  void end(const Iteration& iteration) override {
    if (!late_) return OverRanks::end(iteration);
    // Where layers ask for other sizes a pass may be planned again before it has begun.
    const bool may_wait = iteration.goes_on && !iteration.hold && training_.net.graph().sizers.empty();
    if (!may_wait || !ranked_.postpone()) ranked_.finish();
  }

 private:
  Pass start(int sub) {
    const Pass pass = passes_.pass(sub);
    Updater& updater = training_.updater;
    completing_last_update(updater, [&] { passes_.start_forward(pass, sub == 0 ? updater.prelude() : nullptr); });
    return pass;
  }

  /// The loss. An error of this rank's data waits until the others know of it; a GPU that has failed sums nothing more.
  double finish_promised(const Pass& pass) {
    try {
      return passes_.finish_forward(pass);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kDevice) throw;
      passes_.note_failure(error);
      return 0;
    }
  }

  bool late_ = false;  // the iteration that began last is run so
};

/// Layers that ask the other ranks in the midst of a pass wait there, so that nothing is gained; and an error of the
/// forward pass may show while others wait. Where ranks come and go iterations hold.
bool runs_ahead(const Training& training, const RankedUpdate& ranked) {
  const Net& net = training.net;
  const auto asks = [](const Unit& unit) { return unit.kernel && unit.kernel->booking().asks_ranks; };
  return !net.options().device->is_host() && ranked.has_late_rounds() && !training.ranks.elastic() &&
         !std::ranges::any_of(net.plan().units, asks);
}

}  // namespace

std::unique_ptr<IterationStrategy> make_ranked_strategy(Training& training, TrainPasses& passes, RankedUpdate& ranked,
                                                        IterationStrategy::OwnVotes votes) {
  if (runs_ahead(training, ranked)) return std::make_unique<OverRanksAhead>(training, passes, ranked, std::move(votes));
  return std::make_unique<OverRanks>(training, passes, ranked, std::move(votes));
}

}  // namespace robusta
