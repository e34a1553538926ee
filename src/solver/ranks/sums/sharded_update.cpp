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

  void begins(Param& param) override {
    const std::optional<BucketId> bucket = bucket_of(param);
    const std::span<const BucketId> below = bucket ? sums().lies_on(*bucket) : std::span<const BucketId>();
    if (!below.empty()) take_in(below.back());
  }

 private:
  void begin_round() override { open_ = BucketId(0); }

  /// This rank's elements of the sums, up to these.
  void take_in(BucketId last) {
    for (; open_ <= last; ++open_) {
      wait_for(open_);
      sums().deliver(open_);
    }
  }

  /// Updates this rank's elements; from here on the others get their weights.
  void hand_over() override {
    {
      const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "this rank's part");
      take_in(sums().last_sum());
      updater_.finish();
    }
    // Whoever is ahead writes his weights over the sums that others still look at.
    if (round_.shows_gradients) ranks_.barrier();
    send_weights();
  }

  BucketId open_{0};  ///< the first one that is not taken in
};

}  // namespace

std::unique_ptr<RankedUpdate> make_sharded_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ShardedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
