// Every rank makes the same update of all parameters. Summed buckets are updated between the steps of backward; what is
// still under way when it ends is waited for by the next forward, parameter by parameter (Peng et al. 2019, "A Generic
// Communication Scheduler for Distributed DNN Training Acceleration", section 2).
#include <cassert>

#include "solver/ranks/sums/ranked_update.h"

namespace robusta {
namespace {

class ReplicatedUpdate : public RankedUpdate {
 public:
  ReplicatedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : RankedUpdate(ranks, net, updater, std::move(sum)), updated_(last_sum_.index() + 1) {
    for (const ParamPtr& param : net.params()) {
      if (!bucket_of(*param)) without_gradient_.push_back(param.get());
    }
  }

  void need(Param& param) override {
    if (finished_) return;
    const std::optional<BucketId> found = bucket_of(param);
    if (!found || updated_[*found]) return;
    wait_for(*found);
    update(*found);
  }

  void finish() override {
    if (finished_) return;
    wait_for(last_sum_);
    {
      const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "the rest");
      for (const BucketId b : updated_.ids()) {
        if (!updated_[b]) sums().deliver(b);
      }
      updater_.finish();
    }
    finished_ = true;
  }

 private:
  void begin_round() override { updated_.assign(updated_.size(), 0); }

  void between_steps() override {
    if (round_.hold) return;
    for (const BucketId b : IdRange(BucketId(0), reducer_.first_open())) {
      if (!updated_[b]) update(b);
    }
  }

  /// Decay acts on them before the next forward reads them, or changes them: they may be statistics.
  void after_sums() override { updater_.ready(without_gradient_); }

  void update(BucketId b) {
    assert(!round_.hold);
    const DriverSpan span(recorder_, TraceKind::kUpdate, b.number());
    sums().deliver(b);
    updater_.ready(bucket(b).params);
    updated_[b] = 1;
  }

  IdVector<BucketId, char> updated_;  // of this iteration
  std::vector<Param*> without_gradient_;
};

}  // namespace

std::unique_ptr<RankedUpdate> make_replicated_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ReplicatedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
