// The update of a worker: gradients go to the servers while backward goes on, and the weights that these answer with
// are waited for by the next forward.
#include "base/log.h"
#include "solver/ranks/sums/awaited_weights.h"
#include "solver/ranks/sums/servers/served_sum.h"

namespace robusta {
namespace {

class ServedUpdate : public AwaitedWeights {
 public:
  ServedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : AwaitedWeights(ranks, net, updater, std::move(sum)), served_(static_cast<ServedSum&>(sums())) {}

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

  void settle() override {
    finish();
    if (served_.paused()) return;
    served_.pause();
    served_.meet({});
  }

 private:
  /// The servers have all gradients, and their weights are waited for from here on.
  void hand_over() override {
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
