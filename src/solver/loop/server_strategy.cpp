// A parameter server's iteration: the pushes of its tickets (turns.h), and those of groups that are ahead.
//
// In step (-max_staleness 0) the gradients of all groups are summed, in their order, and make one update: synchronous
// training. Else each push makes an update by itself, at a rate divided by the groups, so that a round of all of them
// moves the weights as far as one synchronous update would. The first server says in which order, so that all parts of
// the weights have seen the same updates. What comes late is compensated for on request: by a smaller rate (Zhang et
// al. 2016, "Staleness-Aware Async-SGD for Distributed Deep Learning", section 3.1), or by what the gradient would be
// at the weights of now (Zheng et al. 2017, "Asynchronous Stochastic Gradient Descent with Delay Compensation",
// equation 10).
#include <algorithm>
#include <utility>
#include <vector>

#include "solver/loop/iteration_strategy.h"
#include "solver/ranks/sums/servers/delay.h"
#include "solver/ranks/sums/servers/parameter_server.h"
#include "solver/ranks/sums/servers/turns.h"

namespace robusta {
namespace {

class Serving : public IterationStrategy {
 public:
  Serving(Training& training, std::unique_ptr<BucketSum> sum)
      : training_(training),
        options_(training.ranks.options().served),
        owner_(std::move(sum)),
        sum_(static_cast<ServedSum&>(*owner_)),
        groups_(static_cast<size_t>(options_.groups)),
        weights_(sum_.own_bytes()),
        turns_(options_.groups, options_.max_staleness),
        server_(sum_) {
    if (options_.compensation != Compensation::kDelay) return;
    for (Group& group : groups_) group.sent.resize(sum_.own_bytes());
  }

  Votes run(const Iteration&) override {
    if (paused_) resume();
    training_.ranks.doing("waiting for gradients", Activity::kWaiting);
    return options_.in_step() ? serve_in_step() : serve_apart();
  }

  void end(const Iteration&) override {}

  void finish_updates() override {
    if (paused_) return;
    {
      const Ranks::Waiting waiting(training_.ranks);
      server_.await_pause();
    }
    paused_ = true;
    sum_.meet(sum_.is_first_server() ? std::exchange(staleness_, {}) : Staleness());
  }

 private:
  struct Group {
    std::vector<std::byte> sent;  ///< the weights it was answered with, where they are compared
  };

  /// Who is taken next, as the first server tells the others; a group of -1: nobody, the iteration is complete.
  struct Step {
    int group = -1;
    int64_t late = 0;
    Votes decided = {};
  };

  void resume() {
    paused_ = false;
    sum_.take_weights(weights_.data());
    for (Group& group : groups_) {
      if (!group.sent.empty()) group.sent = weights_;
    }
    turns_.begin(training_.state.iter);
    number_ = int64_t{training_.state.iter} * options_.groups;
    server_.resume();
  }

  Votes serve_in_step() {
    server_.await_all();
    Votes all = server_.votes(0);
    for (int g = 1; g < options_.groups; ++g) all = all + server_.votes(g);
    if (all.failed == 0) {
      training_.state.losses.add(all.loss / all.ranks);
      begin_updates(training_, false);
      sum_.put_gradients(server_.add_gradients());
      training_.updater.finish();
      sum_.take_weights(weights_.data());
    }
    for (int g = 0; g < options_.groups; ++g) server_.answer(g, weights_.data(), {.votes = all});
    if (all.failed > 0) server_.await_all();  // the end, of which the watch tells: no group pushes any more
    return all;
  }

  Votes serve_apart() {
    for (;;) {
      Step step = sum_.is_first_server() ? next_step() : Step();
      training_.ranks.group().broadcast_value(step);
      if (step.group < 0) return step.decided;
      server_.await(step.group);
      take(step);
    }
  }

  Step next_step() {
    const int64_t iteration = training_.state.iter;
    if (turns_.is_complete(iteration)) return {.decided = turns_.end(iteration)};
    for (;;) {
      const std::vector<int> waiting = server_.waiting();
      if (const int group = turns_.next(waiting); group >= 0) return {.group = group, .late = turns_.late(group)};
      server_.await_more_than(waiting.size());
    }
  }

  void take(const Step& step) {
    const int g = step.group;
    Group& group = groups_[static_cast<size_t>(g)];
    const Votes votes = server_.votes(g);
    staleness_.add(step.late);
    if (votes.failed == 0) {
      training_.state.losses.add(votes.loss / votes.ranks);
      if (!group.sent.empty() && step.late > 0) compensate(server_.gradients(g), group.sent.data());
      begin_updates(training_, {.rate_factor = rate_factor(step.late), .number = number_++});
      sum_.put_gradients(server_.gradients(g));
      training_.updater.finish();
      sum_.take_weights(weights_.data());
    }
    if (!group.sent.empty()) group.sent = weights_;
    server_.answer(g, weights_.data(), turns_.take(g, votes));
  }

  /// With G groups in even turns each gradient is G - 1 updates late: the rate is as without compensation then.
  double rate_factor(int64_t late) const {
    const double groups = options_.groups;
    if (options_.compensation != Compensation::kRate) return 1 / groups;
    return 1 / std::max(groups, static_cast<double>(late) + 1);
  }

  void compensate(std::byte* gradients, const std::byte* sent) const {
    dispatch(sum_.type(), [&](auto type) {
      using T = decltype(type);
      const size_t count = weights_.size() / sizeof(T);
      compensate_delay<T>(
          {reinterpret_cast<T*>(gradients), count}, {reinterpret_cast<const T*>(weights_.data()), count},
          {reinterpret_cast<const T*>(sent), count}, options_.delay_weight, training_.updater.summed_ranks());
    });
  }

  Training& training_;
  const ServerOptions options_;
  std::unique_ptr<BucketSum> owner_;
  ServedSum& sum_;
  std::vector<Group> groups_;
  std::vector<std::byte> weights_;  // of this server's elements, as they are now
  Turns turns_;
  Staleness staleness_;
  int64_t number_ = 0;  // of the next update, counted over resumes
  bool paused_ = true;
  ParameterServer server_;  // its threads end first
};

}  // namespace

std::unique_ptr<IterationStrategy> make_server_strategy(Training& training, std::unique_ptr<BucketSum> sum) {
  return std::make_unique<Serving>(training, std::move(sum));
}

}  // namespace robusta
