// As the replicated update, but each rank updates its own part of what is cut; the others get it where somebody looks
// at whole weights: tests, snapshots, programs. From the next round on they are forgotten, and take no memory.
#include "solver/ranks/sums/replicated_update.h"

namespace robusta {
namespace {

class CutUpdate : public ReplicatedUpdate {
 public:
  CutUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : ReplicatedUpdate(ranks, net, updater, std::move(sum)), shards_(*sums().shards()) {}

  void finish() override {
    ReplicatedUpdate::finish();
    if (round_.shows_gradients) gather();
  }
  bool has_late_rounds() const override { return false; }
  void settle() override {
    finish();
    gather();
  }
  void show_weights() override { settle(); }

 private:
  void begin_round() override {
    ReplicatedUpdate::begin_round();
    if (gathered_ && !round_.shows_gradients) shards_.drop_others();
    gathered_ = false;
  }

  void gather() {
    if (!gathered_) shards_.gather_weights();
    gathered_ = true;
  }

  Shards& shards_;
  bool gathered_ = true;  // all ranks have the weights of all parts
};

}  // namespace

std::unique_ptr<RankedUpdate> make_cut_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<CutUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
