// One stage of a net on each rank: a synchronous pipeline, so that no stage ever sees weights of two iterations (Huang
// et al. 2019, "GPipe", section 2.3), and where several ranks have the same stage, data parallelism among these
// (Narayanan et al. 2021, section 3).
//
// Votes of the ranks with one stage ride behind their gradients; then the stages of a pipeline gather theirs, so that
// all ranks have the sums of all. Losses of micro-batches come the same way: the first stage, whose rank 0 shows them,
// has as many numbers from each of its pipeline's stages.
#include <algorithm>
#include <cmath>

#include "solver/loop/iteration_strategy.h"

namespace robusta {
namespace {

std::vector<double> numbers_of(const Votes& votes) {
  std::vector<double> numbers(kVotes);
  write_votes(votes, DType::kF64, numbers.data());
  return numbers;
}

class Staged : public IterationStrategy {
 public:
  Staged(Training& training, TrainPasses& passes, RankedUpdate* ranked, OwnVotes votes)
      : training_(training),
        passes_(passes),
        pipeline_(*training.over_ranks),
        ranked_(ranked),
        votes_(std::move(votes)) {}

  /// Clipping wants the gradients of all stages, and the loss of the last one may decide the rate of all.
  bool must_hold() const override { return true; }

  Votes run(const Iteration& iteration) override {
    training_.ranks.doing("waiting for data", has_run_ ? Activity::kComputing : Activity::kPausing);
    const auto pass_of = [this](int micro_batch) { return passes_.pass(micro_batch); };
    Votes own;
    std::vector<double> losses = pipeline_.run(pass_of, [&](std::span<const double> all) -> GradientSink* {
      own = votes_of(all);
      if (ranked_) ranked_->begin(own, {.hold = true, .shows_gradients = iteration.shows_gradients});
      return ranked_;
    });
    has_run_ = true;
    if (ranked_) own = ranked_->agree();
    const Votes all = agree(own, losses);
    look_at(losses, all);
    return all;
  }
  void end(const Iteration&) override {
    Updater& updater = training_.updater;
    if (updater.clips()) numbers_.square_sum = pipeline_.square_sum(updater.square_sums_of_gradients());
    updater.begin(numbers_);
    if (ranked_) {
      ranked_->finish();
    } else {
      updater.finish();
    }
  }
  void finish_updates() override {
    if (ranked_) ranked_->settle();
  }
  /// Waits for other stages are waits for other ranks, as those for gradients are.
  BucketReducer::Times take_times() override {
    BucketReducer::Times times = ranked_ ? ranked_->reducer().take_times() : BucketReducer::Times();
    const double waited = pipeline_.traffic().waited;
    times.waiting += waited - waited_;
    waited_ = waited;
    return times;
  }

 private:
  Votes votes_of(std::span<const double> losses) const {
    Votes mine = votes_();
    double sum = 0;
    for (const double loss : losses) sum += loss;
    mine.failed = std::isfinite(sum) ? 0 : 1;
    mine.loss = mine.failed > 0 ? 0 : sum / static_cast<double>(losses.size());
    return mine;
  }

  /// The votes of all ranks; `losses` become those of all stages of this pipeline.
  Votes agree(const Votes& of_stage, std::vector<double>& losses) {
    std::vector<double> mine = numbers_of(of_stage);
    mine.insert(mine.end(), losses.begin(), losses.end());
    losses.assign(losses.size(), 0);
    Votes all{.ranks = 0};
    for (const std::vector<double>& row : pipeline_.gather(mine)) {
      all = all + read_votes(DType::kF64, row.data());
      for (size_t m = 0; m < losses.size(); ++m) losses[m] += row[kVotes + m];
    }
    return all;
  }

  /// Throws on all ranks where a loss is not finite; else the state has the loss of all, and the rate follows.
  void look_at(const std::vector<double>& losses, const Votes& all) {
    double loss = 0;
    for (size_t m = 0; m < losses.size(); ++m) {
      loss += passes_.check_loss(losses[m], passes_.pass(static_cast<int>(m)));
    }
    passes_.throw_failed(all.failed);
    const int pipelines = training_.ranks.learners();
    // A sum over pipelines has gone through the type of gradients.
    training_.state.losses.add(pipelines == 1 ? loss / static_cast<double>(losses.size()) : all.loss / pipelines);
    numbers_ = update_numbers(training_);
    numbers_.hold = true;
  }

  Training& training_;
  TrainPasses& passes_;
  RankPipeline& pipeline_;
  RankedUpdate* const ranked_;
  OwnVotes votes_;
  Updater::Iteration numbers_;
  double waited_ = 0;  ///< for other stages, up to the last take_times()
  bool has_run_ = false;
};

}  // namespace

std::unique_ptr<IterationStrategy> make_staged_strategy(Training& training, TrainPasses& passes, RankedUpdate* ranked,
                                                        IterationStrategy::OwnVotes votes) {
  return std::make_unique<Staged>(training, passes, ranked, std::move(votes));
}

}  // namespace robusta
