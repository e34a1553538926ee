// The update of a worker: gradients go to the servers while backward goes on, and the weights that these answer with
// are waited for by the next forward, layer by layer (Peng et al. 2019, "A Generic Communication Scheduler for
// Distributed DNN Training Acceleration", section 2).
#include "base/log.h"
#include "solver/ranks/sums/ranked_update.h"
#include "solver/ranks/sums/servers/served_sum.h"

namespace robusta {
namespace {

class ServedUpdate : public RankedUpdate {
 public:
  ServedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : RankedUpdate(ranks, net, updater, std::move(sum)), served_(static_cast<ServedSum&>(sums())) {}

  /// The servers wait for this group's next push, and have to hear that there is none.
  ~ServedUpdate() override {
    if (served_.paused() || (!finished_ && !weights_are_sent())) return;
    try {
      reducer_.wait(served_.buckets().end_id() - 1);
      served_.pause();
    } catch (const std::exception& error) {
      LOG_ERROR << "the parameter servers were not told of the end: " << error.what();
    }
  }

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

  void settle() override {
    finish();
    if (served_.paused()) return;
    served_.pause();
    served_.meet({});
  }

 private:
  void begin_round() override {}
  void after_sums() override { hand_over(); }

  /// The servers have all gradients, and their weights are waited for from here on.
  void hand_over() {
    updater_.finish();  // of parameters without a gradient
    send_weights();
  }

  ServedSum& served_;
};

}  // namespace

std::unique_ptr<RankedUpdate> make_served_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<ServedUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
