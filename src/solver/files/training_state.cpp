// Caffe's fields as Caffe has them, the rest in `robusta`, which Caffe skips.
#include "solver/files/training_state.h"

#include <numeric>

#include "base/version.h"

namespace robusta {

void LossWindow::add(double loss) {
  if (losses_.size() == size_) losses_.pop_front();
  losses_.push_back(static_cast<float>(loss));
}

double LossWindow::mean() const {
  if (losses_.empty()) return 0;
  return std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(losses_.size());
}

caffe::SolverState state_to_proto(const TrainingState& state) {
  caffe::SolverState proto;
  proto.set_iter(state.iter);
  proto.set_current_step(state.policy.current_step);
  proto.set_minimum_loss(state.policy.minimum_loss);
  proto.set_iter_last_event(state.policy.iter_last_event);
  caffe::RobustaState* own = proto.mutable_robusta();
  own->set_samples_seen(state.samples_seen);
  own->set_random_seed(state.seed);
  own->set_global_batch(state.global_batch);
  own->set_version(kVersion);
  for (float loss : state.losses.losses()) own->add_smoothed_loss(loss);
  if (state.loss_scale.active()) {
    own->set_loss_scale(state.loss_scale.value);
    own->set_loss_scale_good_steps(state.loss_scale.good_steps);
    own->set_skipped_steps(state.loss_scale.skipped);
  }
  own->mutable_compression_left()->Add(state.compression_left.begin(), state.compression_left.end());
  own->mutable_slow_momentum()->Add(state.slow_momentum.begin(), state.slow_momentum.end());
  for (const auto& [key, choice] : state.kernel_choices) {
    caffe::RobustaState::KernelChoice* entry = own->add_kernel_choice();
    entry->set_key(key);
    entry->set_choice(choice);
  }
  return proto;
}

TrainingState state_from_proto(const caffe::SolverState& proto, int average_loss) {
  TrainingState state;
  state.iter = proto.iter();
  state.policy = {proto.current_step(), proto.minimum_loss(), proto.iter_last_event()};
  state.losses = LossWindow(average_loss);
  const caffe::RobustaState& own = proto.robusta();
  state.samples_seen = own.samples_seen();
  state.seed = own.random_seed();
  state.global_batch = own.global_batch();
  for (float loss : own.smoothed_loss()) state.losses.add(loss);
  state.loss_scale = {own.loss_scale(), own.loss_scale_good_steps(), own.skipped_steps()};
  state.compression_left.assign(own.compression_left().begin(), own.compression_left().end());
  state.slow_momentum.assign(own.slow_momentum().begin(), own.slow_momentum().end());
  for (const auto& entry : own.kernel_choice()) state.kernel_choices[entry.key()] = entry.choice();
  return state;
}

}  // namespace robusta
