// The numbers of an update come from the schedule once per iteration, the same on all ranks.
#include "solver/loop/iteration_strategy.h"

namespace robusta {

Updater::Iteration update_numbers(Training& training) {
  TrainingState& state = training.state;
  const Schedule& schedule = training.schedule;
  training.rate = schedule.rate(state.iter, state.losses.mean(), state.policy);
  return {.number = state.iter,
          .rate = training.rate,
          .momentum = schedule.momentum(state.iter, training.rate),
          .weight_decay = schedule.weight_decay(state.iter),
          .loss_scale = state.loss_scale.value};
}

void begin_updates(Training& training, bool hold) {
  Updater::Iteration numbers = update_numbers(training);
  numbers.hold = hold;
  training.updater.begin(numbers);
}

void begin_updates(Training& training, const PartialUpdate& partial) {
  Updater::Iteration numbers = update_numbers(training);
  numbers.number = partial.number;
  numbers.rate *= partial.rate_factor;
  training.updater.begin(numbers);
}

}  // namespace robusta
