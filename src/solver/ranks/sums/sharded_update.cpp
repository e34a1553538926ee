// Each rank updates the elements whose sums it holds, with histories of these alone (Rajbhandari et al. 2020, "ZeRO:
// Memory Optimizations Toward Training Trillion Parameter Models", section 5.1), and hands the weights to the others in
// the order in which the next forward needs them (Peng et al. 2019, "A Generic Communication Scheduler for Distributed
// DNN Training Acceleration", section 2).
#include "base/log.h"
#include "solver/ranks/sums/ranked_update.h"

namespace robusta {
namespace {

class ShardedUpdate : public RankedUpdate {
 public:
  ShardedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : RankedUpdate(ranks, net, updater, std::move(sum)), arrived_(sums().buckets().size()) {}
  /// Whatever ends this rank's training, the others get the weights that it has promised.
  ~ShardedUpdate() override {
    if (finished_ || !handed_) return;
    try {
      reducer_.wait(arrived_.end_id() - 1);
    } catch (const std::exception& error) {
      LOG_ERROR << "the weights of this iteration were not handed to all: " << error.what();
    }
  }

  void need(Param& param) override {
    if (finished_) return;
    const std::optional<BucketId> found = bucket_of(param);
    if (found) receive(sums().weights_of(*found));
  }

  void finish() override {
    if (finished_) return;
    if (!handed_) hand_out();
    for (BucketId b = last_sum_ + 1; b < arrived_.end_id(); ++b) receive(b);
    finished_ = true;
  }

 private:
  void begin_round() override {
    handed_ = false;
    arrived_.assign(arrived_.size(), 0);
  }
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
    while (next_ < arrived_.end_id()) post();
    handed_ = true;
  }

  void receive(BucketId weights) {
    if (arrived_[weights]) return;
    wait_for(weights);
    const DriverSpan span(recorder_, TraceKind::kUpdate, weights.number());
    sums().deliver(weights);
    arrived_[weights] = 1;
  }

  bool handed_ = true;                // the weights of this iteration are on their way
  IdVector<BucketId, char> arrived_;  // in the parameters
};

}  // namespace

std::unique_ptr<RankedUpdate> make_sharded_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ShardedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
