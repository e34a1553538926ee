// As the replicated update, from the sums of a group. In the last round before an average all updates are made when
// backward ends, and the next forward waits for the averages of the weights it reads, layer by layer.
//
// An average is made every K rounds, counted from the last one: one that is made for a test or a snapshot counts, too,
// so that a resumed training averages when an uninterrupted one does.
#include "net/run/arrays.h"
#include "solver/ranks/sums/replicated_update.h"

namespace robusta {
namespace {

class LocalUpdate : public ReplicatedUpdate {
 public:
  LocalUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : ReplicatedUpdate(ranks, net, updater, std::move(sum)),
        average_(*sums().periodic_average()),
        every_(ranks.options().sync_every) {}

  void need(Param& param) override {
    if (finished_ || !weights_are_sent()) return ReplicatedUpdate::need(param);
    if (const std::optional<BucketId> found = bucket_of(param)) receive_weights(sums().weights_of(*found));
  }

  void finish() override {
    if (finished_ || !averages_) return ReplicatedUpdate::finish();
    if (!weights_are_sent()) hand_over();
    receive_all_weights();
    finished_ = true;
  }

  bool has_late_rounds() const override { return false; }
  void settle() override {
    finish();
    const Ranks::Waiting waiting(ranks_);
    if (rounds_ > 0) {
      average_.set_rate(updater_.rate());
      average_.average_now();
      rounds_ = 0;
    }
    if (!ema_is_common_) average_ema();
    ema_is_common_ = true;
  }

  void save(TrainingState& state) override {
    for (const HistoryId id : updater_.history_ids()) {
      std::vector<float> values = updater_.history(id);
      average(values);
      updater_.set_history(id, values);
    }
    state.slow_momentum = average_.slow_momentum();
  }

  void begin_with(const TrainingState& state) override { average_.set_slow_momentum(state.slow_momentum); }

 private:
  void begin_round() override {
    ReplicatedUpdate::begin_round();
    ema_is_common_ = false;
    averages_ = ++rounds_ == every_;
    average_.plan_round(averages_);
  }

  void after_sums() override {
    if (!averages_) return ReplicatedUpdate::after_sums();
    hand_over();
  }

  /// The mean over the ranks, in the same bits on all.
  void average(std::vector<float>& values) {
    const Ranks::Waiting waiting(ranks_);
    ranks_.control().all_reduce(values.data(), static_cast<int64_t>(values.size()), DType::kF32);
    ranks_.broadcast(values.data(), values.size() * sizeof(float));  // a library's sum may differ in its last bits
    for (float& value : values) value /= static_cast<float>(ranks_.count());
  }

  /// The average over time that each rank has of its own weights (ema_decay).
  void average_ema() {
    WeightAverage* const ema = updater_.average();
    if (!ema || !ema->begun()) return;
    for (const Tensor& array : ema->tensors()) {
      std::vector<float> values = read_array(updater_.stream(), array);
      average(values);
      write_array(updater_.stream(), array, values);
    }
  }

  /// All updates are made, and the weights begin to travel.
  void hand_over() {
    update_the_rest();
    average_.set_rate(updater_.rate());
    send_weights();
    rounds_ = 0;
  }

  PeriodicAverage& average_;
  const int every_;
  int rounds_ = 0;              // since the last average
  bool averages_ = false;       // this round ends with one
  bool ema_is_common_ = false;  // to all ranks
};

}  // namespace

std::unique_ptr<RankedUpdate> make_local_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<LocalUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
