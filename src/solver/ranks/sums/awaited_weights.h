/// A rank whose new weights come from others: it sends its own part off when all sums are there, and the next forward
/// waits for the weights, layer by layer (Peng et al. 2019, "A Generic Communication Scheduler for Distributed DNN
/// Training Acceleration", section 2).
#pragma once

#include "solver/ranks/sums/ranked_update.h"

namespace robusta {

class AwaitedWeights : public RankedUpdate {
 public:
  void need(Param& param) override {
    if (finished_) return;
    const std::optional<BucketId> found = bucket_of(param);
    if (found) receive_weights(sums().weights_of(*found));
  }

  void finish() override {
    if (finished_) return;
    if (!weights_are_sent()) hand_over();
    receive_all_weights();
    finished_ = true;
  }

 protected:
  using RankedUpdate::RankedUpdate;

  void begin_round() override {}
  /// Makes this rank's part of the update, and calls send_weights().
  virtual void hand_over() = 0;

 private:
  void after_sums() override { hand_over(); }
};

}  // namespace robusta
