/// Every rank makes the same update of all parameters from summed gradients.
///
/// Summed buckets are updated between the steps of backward; what is still under way when it ends is waited for by the
/// next forward, parameter by parameter (Peng et al. 2019, "A Generic Communication Scheduler for Distributed DNN
/// Training Acceleration", section 2). In a late round all are updated at once when all ranks have agreed.
#pragma once

#include <vector>

#include "solver/ranks/sums/ranked_update.h"

namespace robusta {

class ReplicatedUpdate : public RankedUpdate {
 public:
  /// References are kept.
  ReplicatedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);

  void need(Param& param) override;
  void finish() override;
  bool postpone() override;
  bool has_late_rounds() const override { return true; }

 protected:
  void begin_round() override { updated_.assign(updated_.size(), 0); }
  void after_sums() override;

  /// Waits for all sums, and makes what updates are left.
  void update_the_rest();

 private:
  void between_steps() override;
  void update(BucketId bucket);

  IdVector<BucketId, char> updated_;  ///< of this round
  std::vector<Param*> without_gradient_;
};

}  // namespace robusta
