/// Updates the parameters from gradients that are summed over ranks, while training goes on.
///
/// As backward completes the parameters of a bucket, the bucket is reduced by another thread. What the ranks have to
/// agree on in every iteration rides behind the last gradients. Five kinds differ in who updates what, and when:
///
///   replicated_update.cpp   every rank updates everything, as soon as its sum is there: between the steps of backward,
///                           or in the next forward right before a step reads it. No message is sent but the sums
///   sharded_update.cpp      each rank updates its own elements when all sums are there (-shard), and hands the weights
///                           to the others while the next forward goes on, which waits for them, layer by layer
///   local_update.cpp        every rank updates everything from the sums of its group, and every so many iterations
///                           weights become the average over all groups (-sync_every), which travels the same way
///   served_update.cpp       parameter servers update everything, and the weights come from them
///   cut_update.cpp          as the replicated one, but of layers that are cut (model_parts) each rank updates its part
///                           alone, and has the others' weights from settle() to the next round
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "net/net.h"
#include "solver/files/training_state.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_reducer.h"
#include "solver/ranks/sums/gradient_sum.h"
#include "solver/ranks/votes.h"
#include "solver/trace/trace_recorder.h"
#include "solver/update/updater.h"

namespace robusta {

class RankedUpdate : public GradientSink, public ParamGate {
 public:
  /// Whatever ends this rank's training, the others get the weights that it has promised.
  ~RankedUpdate() override;

  /// Elements, and bytes, that a net must leave behind its gradients for the votes.
  static constexpr int64_t kTail = kVotes;
  static constexpr size_t kTailBytes = sizeof(Votes);

  /// The last backward of an iteration begins; updater.begin was called.
  struct Round {
    bool hold = false;             ///< nothing is updated before finish()
    bool shows_gradients = false;  ///< between agree() and finish() every rank looks at all sums. REQUIRES: hold
    /// updater.begin is called behind agree(), and nothing is updated before finish() or postpone(): a round whose
    /// votes are bad changes nothing. REQUIRES: has_late_rounds()
    bool late = false;
  };
  /// REQUIRES: the iteration before is finished.
  void begin(const Round& round);
  /// What this rank has to say, which the last sum waits for: at any time between begin() and agree().
  void vote(const Votes& mine);
  void begin(const Votes& mine, const Round& round) {
    begin(round);
    vote(mine);
  }
  void ready(Param& param) override;
  /// The last one of a bucket.
  bool urgent(const Param& param) const override;
  /// After backward: waits for the last sum and returns the votes of all ranks.
  Votes agree();
  /// In the place of all that follows: an error has ended this rank's round before its votes were summed. What is
  /// posted goes on; nobody waits for what is not, and nothing more is updated.
  void abandon() { finished_ = finished_ || !sent_; }
  bool is_under_way() const { return !finished_; }
  /// Waits for all buckets and updates what was not yet. Does nothing when all is done.
  virtual void finish() = 0;
  /// In the place of finish(): leaves all updates to the next forward pass, which has Updater::prelude() before it, or
  /// to the next finish(). False: that cannot be, and nothing is done. REQUIRES: the round is late, and agreed upon.
  virtual bool postpone() { return false; }
  virtual bool has_late_rounds() const { return false; }
  /// As finish(), after which all ranks have the same weights. Collective.
  virtual void settle() { finish(); }
  /// Before a round in which weights are looked at: all ranks have whole ones. Collective. REQUIRES: the round holds.
  virtual void show_weights() {}

  /// Puts into the state what beside weights and histories decides how the sums go on; from here on they go on as those
  /// do that begin with it. Collective. REQUIRES: settle().
  virtual void save(TrainingState& state);
  /// What does not fit the net is passed over, with a warning. Collective.
  virtual void begin_with(const TrainingState& state);

  BucketReducer& reducer() { return reducer_; }
  /// Notes what it does from now on. It outlives this.
  void record_in(TraceRecorder& recorder);

 protected:
  /// References are kept.
  RankedUpdate(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);

  /// A round begins: nothing is summed, nothing updated.
  virtual void begin_round() = 0;
  /// Between two steps of backward.
  virtual void between_steps() {}
  /// All sums are there, and nothing holds.
  virtual void after_sums() {}

  BucketSum& sums() { return reducer_.sums(); }
  const Bucket& bucket(BucketId id) const { return reducer_.buckets()[id]; }
  /// Those of gradients, and of the votes.
  IdRange<BucketId> summed() { return {BucketId(0), last_sum_ + 1}; }
  /// nullopt: the parameter has no gradient.
  std::optional<BucketId> bucket_of(const Param& param) const;
  /// The next one in order.
  void post();
  /// All that may be.
  void post_complete();
  void wait_for(BucketId bucket);

  // Of a round that ends with buckets of weights (carrying_sum.h):

  /// This rank's are final, and are on their way from here on, each as soon as the place where it travels is free.
  void send_weights();
  bool weights_are_sent() const { return sent_; }
  /// Waits for those of a bucket, and puts them into the parameters.
  void receive_weights(BucketId weights);
  void receive_all_weights();

  Ranks& ranks_;
  Updater& updater_;
  BucketReducer reducer_;
  const BucketId last_sum_;
  Round round_;
  bool voted_ = false;    ///< in this round
  BucketId next_{0};      ///< to be posted
  bool finished_ = true;  ///< no update is left to be made
  TraceRecorder* recorder_ = nullptr;

 private:
  /// Buckets of weights that find their place free, or those that lay there arrived.
  void post_weights();
  void deliver_all();
  /// Waits for a bucket that is posted, and puts its weights into the parameters.
  void put_weights(BucketId weights);
  int64_t gradients();
  /// What compression has left out of the summed gradients, in the order of their memory; empty where nothing is kept.
  std::vector<float> settle_left();
  void give_left(const std::vector<float>& left);

  const bool keeps_left_;
  /// Sums begin when backward has run, and not beside it: in the first round, where they must find all kernels loaded.
  bool apart_;
  Stream& stream_;  ///< the net's
  DType type_;
  void* tail_;  ///< the votes, in host memory
  std::unordered_map<const Param*, BucketId> bucket_of_;
  IdVector<BucketId, size_t> missing_;  ///< parameters without a complete gradient
  bool sent_ = false;                   ///< the weights of this round are on their way
  IdVector<BucketId, char> arrived_;    ///< in the parameters
};

/// Of the kind that the sum is made for.
std::unique_ptr<RankedUpdate> make_ranked_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_replicated_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_sharded_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_served_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_cut_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_local_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);

}  // namespace robusta
