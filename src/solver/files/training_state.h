/// Where a training stands: everything that decides how it goes on, beside weights and histories.
///
/// Saved in a .solverstate: Caffe's fields as Caffe has them, the rest in `robusta`, which Caffe skips.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "solver/update/loss_scale.h"
#include "solver/update/lr_policy.h"

namespace robusta {

/// The mean of the last losses, as displayed (average_loss).
class LossWindow {
 public:
  explicit LossWindow(int size = 1) : size_(static_cast<size_t>(size)) {}
  void add(double loss);
  /// 0 before the first loss.
  double mean() const;
  const std::deque<float>& losses() const { return losses_; }

 private:
  size_t size_;               ///< average_loss: iterations whose mean is shown
  std::deque<float> losses_;  ///< oldest first; floats, as they are saved
};

struct TrainingState {
  int iter = 0;               ///< finished iterations
  uint64_t samples_seen = 0;  ///< over all ranks since training began
  uint64_t seed = 0;          ///< in use, also when it was drawn
  uint64_t global_batch = 0;  ///< samples per iteration
  PolicyState policy;         ///< of learning rates that depend on the past
  LossWindow losses;          ///< what the shown loss is the mean of
  LossScale loss_scale;
  /// Of gradients that travelled in 8 bits, over all ranks, in the order of gradient memory: it comes with later ones.
  /// Known while a snapshot is written or read.
  std::vector<float> compression_left;
  /// Of local SGD, by parameter in the order of the net: SlowMo's u. Known while a snapshot is written or read.
  std::vector<float> slow_momentum;
  std::map<std::string, std::string> kernel_choices;  ///< so that a resumed run computes the same bits
};

/// All fields but learned_net and history.
caffe::SolverState state_to_proto(const TrainingState& state);

/// `average_loss` sizes the window. A state without `robusta` leaves samples_seen, seed and global_batch at 0.
TrainingState state_from_proto(const caffe::SolverState& proto, int average_loss);

}  // namespace robusta
