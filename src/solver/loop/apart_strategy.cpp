// A group that goes its own way beside others: in an iteration it takes as many parts of the global batch as the
// parameter servers give it tickets for (turns.h), one, several or none.
#include "solver/loop/iteration_strategy.h"
#include "solver/ranks/sums/servers/served_sum.h"

namespace robusta {
namespace {

class Apart : public IterationStrategy {
 public:
  Apart(Training& training, TrainPasses& passes, RankedUpdate& ranked, OwnVotes votes)
      : training_(training),
        passes_(passes),
        served_(static_cast<ServedSum&>(ranked.reducer().sums())),
        part_(make_ranked_strategy(training, passes, ranked, std::move(votes))) {}

  bool must_hold() const override { return part_->must_hold(); }

  Votes run(const Iteration& iteration) override {
    const int64_t now = training_.state.iter;
    if (served_.paused()) served_.begin_turns(now);
    Votes votes{.ranks = 0};
    while (served_.iteration() == now) {
      passes_.set_place(served_.place());
      votes = part_->run(iteration);
    }
    const Answer& told = served_.answer();
    return told.meeting == now ? votes + told.asked : votes;
  }
  void end(const Iteration& iteration) override { part_->end(iteration); }
  void finish_updates() override {
    part_->finish_updates();
    passes_.set_place(training_.ranks.rank());  // what is shown then is of equal parts
  }
  BucketReducer::Times take_times() override { return part_->take_times(); }

 private:
  Training& training_;
  TrainPasses& passes_;
  ServedSum& served_;
  std::unique_ptr<IterationStrategy> part_;  // of one ticket
};

}  // namespace

std::unique_ptr<IterationStrategy> make_apart_strategy(Training& training, TrainPasses& passes, RankedUpdate& ranked,
                                                       IterationStrategy::OwnVotes votes) {
  return std::make_unique<Apart>(training, passes, ranked, std::move(votes));
}

}  // namespace robusta
