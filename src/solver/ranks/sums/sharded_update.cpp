// Each rank updates the elements whose sums it holds, with histories of these alone (Rajbhandari et al. 2020, "ZeRO:
// Memory Optimizations Toward Training Trillion Parameter Models", section 5.1), and hands the weights to the others in
// the order in which the next forward needs them.
#include "solver/ranks/sums/awaited_weights.h"

namespace robusta {
namespace {

class ShardedUpdate : public AwaitedWeights {
 public:
  ShardedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : AwaitedWeights(ranks, net, updater, std::move(sum)) {}

 private:
  /// Updates this rank's elements; from here on the others get their weights.
  void hand_over() override {
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
