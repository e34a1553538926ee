// Each rank updates the elements whose sums it holds, with histories of these alone (Rajbhandari et al. 2020, "ZeRO:
// Memory Optimizations Toward Training Trillion Parameter Models", section 5.1), and hands the weights to the others in
// the order in which the next forward needs them (Peng et al. 2019, "A Generic Communication Scheduler for Distributed
// DNN Training Acceleration", section 2).
#include "solver/ranks/sums/ranked_update.h"

namespace robusta {
namespace {

class ShardedUpdate : public RankedUpdate {
 public:
  ShardedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : RankedUpdate(ranks, net, updater, std::move(sum)) {}

  void need(Param& param) override {
    if (finished_) return;
    const std::optional<BucketId> found = bucket_of(param);
    if (found) receive_weights(sums().weights_of(*found));
  }

  void finish() override {
    if (finished_) return;
    if (!weights_are_sent()) hand_out();
    receive_all_weights();
    finished_ = true;
  }

 private:
  void begin_round() override {}
  void after_sums() override { hand_out(); }

  /// Updates this rank's elements; from here on the others get their weights.
  void hand_out() {
    {
      const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "this rank's part");
      for (const BucketId b : summed()) sums().deliver(b);
      updater_.finish();
    }
    // Whoever is ahead writes his weights over the sums that others still look at.
    if (round_.shows_gradients) ranks_.barrier();
    send_weights();
  }
};

}  // namespace

std::unique_ptr<RankedUpdate> make_sharded_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ShardedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
