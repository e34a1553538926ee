// Stages of one net on several devices: all updates come when all micro-batches have passed, as the loss is known then
// and clipping wants the gradients of all stages.
#include "solver/loop/iteration_strategy.h"

namespace robusta {
namespace {

class Pipelined : public IterationStrategy {
 public:
  Pipelined(Training& training, TrainPasses& passes, DevicePipeline& pipeline, OwnVotes votes)
      : training_(training), passes_(passes), pipeline_(pipeline), votes_(std::move(votes)) {}

  Votes run(const Iteration&) override {
    const int batches = training_.param().iter_size();
    training_.ranks.doing("waiting for data");
    const auto pass_of = [this](int micro_batch) { return passes_.pass(micro_batch); };
    const std::vector<double> losses = pipeline_.run(pass_of);
    double loss = 0;
    for (int m = 0; m < batches; ++m) loss += passes_.check_loss(losses[static_cast<size_t>(m)], pass_of(m));
    training_.state.losses.add(loss / batches);
    numbers_ = update_numbers(training_);
    numbers_.hold = true;
    return votes_();
  }
  void end(const Iteration&) override {
    pipeline_.update(numbers_);
    moved_ = true;
  }
  /// The host's net has the weights again.
  void finish_updates() override {
    if (!moved_) return;
    pipeline_.gather();
    moved_ = false;
  }

 private:
  Training& training_;
  TrainPasses& passes_;
  DevicePipeline& pipeline_;
  OwnVotes votes_;
  Updater::Iteration numbers_;
  bool moved_ = false;  ///< the stages' weights have, since the host's net got them
};

}  // namespace

std::unique_ptr<IterationStrategy> make_pipelined_strategy(Training& training, TrainPasses& passes,
                                                           DevicePipeline& pipeline,
                                                           IterationStrategy::OwnVotes votes) {
  return std::make_unique<Pipelined>(training, passes, pipeline, std::move(votes));
}

}  // namespace robusta
