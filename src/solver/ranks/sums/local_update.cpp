// Every rank updates all parameters from the sums of its group. In the last round before an average all updates are
// made when backward ends, and the next forward waits for the averages of the weights it reads, layer by layer.
//
// An average is made every K rounds, counted from the last one: one that is made for a test or a snapshot counts, too,
// so that a resumed training averages when an uninterrupted one does.
#include <cassert>

#include "net/run/arrays.h"
#include "solver/ranks/sums/ranked_update.h"

namespace robusta {
namespace {

class LocalUpdate : public RankedUpdate {
 public:
  LocalUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum)
      : RankedUpdate(ranks, net, updater, std::move(sum)),
        average_(*sums().periodic_average()),
        every_(ranks.options().sync_every),
        updated_(last_sum_.index() + 1) {
    for (const ParamPtr& param : net.params()) {
      if (!bucket_of(*param)) without_gradient_.push_back(param.get());
    }
  }

  void need(Param& param) override {
    if (finished_) return;
    const std::optional<BucketId> found = bucket_of(param);
    if (!found) return;
    if (weights_are_sent()) return receive_weights(sums().weights_of(*found));
    if (updated_[*found]) return;
    wait_for(*found);
    update(*found);
  }

  void finish() override {
    if (finished_) return;
    if (!weights_are_sent()) update_all();
    if (averages_ && !weights_are_sent()) hand_over();
    if (weights_are_sent()) receive_all_weights();
    finished_ = true;
  }

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
    updated_.assign(updated_.size(), 0);
    ema_is_common_ = false;
    averages_ = ++rounds_ == every_;
    average_.plan_round(averages_);
  }

  void between_steps() override {
    if (round_.hold) return;
    for (const BucketId b : IdRange(BucketId(0), reducer_.first_open())) {
      if (!updated_[b]) update(b);
    }
  }

  void after_sums() override {
    if (!averages_) return updater_.ready(without_gradient_);
    update_all();
    hand_over();
  }

  void update(BucketId b) {
    assert(!round_.hold);
    const DriverSpan span(recorder_, TraceKind::kUpdate, b.number());
    sums().deliver(b);
    updater_.ready(bucket(b).params);
    updated_[b] = 1;
  }

  /// What was not updated yet.
  void update_all() {
    wait_for(last_sum_);
    const DriverSpan span(recorder_, TraceKind::kUpdate, 0, "the rest");
    for (const BucketId b : updated_.ids()) {
      if (!updated_[b]) sums().deliver(b);
    }
    updater_.finish();
  }

  /// The mean over the ranks, in the same bits on all.
  void average(std::vector<float>& values) {
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

  void hand_over() {
    average_.set_rate(updater_.rate());
    send_weights();
    rounds_ = 0;
  }

  PeriodicAverage& average_;
  const int every_;
  int rounds_ = 0;                    // since the last average
  bool averages_ = false;             // this round ends with one
  bool ema_is_common_ = false;        // to all ranks
  IdVector<BucketId, char> updated_;  // of this round
  std::vector<Param*> without_gradient_;
};

}  // namespace

std::unique_ptr<RankedUpdate> make_local_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum) {
  return std::make_unique<LocalUpdate>(ranks, net, updater, std::move(sum));
}

}  // namespace robusta
