// The numbers of an update come from the schedule once per iteration, the same on all ranks.
#include "solver/loop/iteration_strategy.h"

namespace robusta {
namespace {

Updater::Iteration numbers_of(Training& training) {
  TrainingState& state = training.state;
  const Schedule& schedule = training.schedule;
  training.rate = schedule.rate(state.iter, state.losses.mean(), state.policy);
  return {.number = state.iter,
          .rate = training.rate,
          .momentum = schedule.momentum(state.iter, training.rate),
          .weight_decay = schedule.weight_decay(state.iter),
          .loss_scale = state.loss_scale.value};
}

}  // namespace

void begin_updates(Training& training, bool hold) {
  Updater::Iteration numbers = numbers_of(training);
  numbers.hold = hold;
  training.updater.begin(numbers);
}

void begin_updates(Training& training, const PartialUpdate& partial) {
  Updater::Iteration numbers = numbers_of(training);
  numbers.number = partial.number;
  numbers.rate *= partial.rate_factor;
  training.updater.begin(numbers);
}

}  // namespace robusta
