// The numbers of an update come from the schedule once per iteration, the same on all ranks.
#include "solver/loop/iteration_strategy.h"

namespace robusta {

void begin_updates(Training& training, bool hold) {
  TrainingState& state = training.state;
  const Schedule& schedule = training.schedule;
  training.rate = schedule.rate(state.iter, state.losses.mean(), state.policy);
  training.updater.begin({.number = state.iter,
                          .rate = training.rate,
                          .momentum = schedule.momentum(state.iter, training.rate),
                          .weight_decay = schedule.weight_decay(state.iter),
                          .hold = hold,
                          .loss_scale = state.loss_scale.value});
}

}  // namespace robusta
