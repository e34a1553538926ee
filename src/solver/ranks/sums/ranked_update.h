/// Updates the parameters from gradients that are summed over ranks, while training goes on.
///
/// As backward completes the parameters of a bucket, the bucket is reduced by another thread. What the ranks have to
/// agree on in every iteration rides behind the last gradients. Two kinds differ in who updates what, and when:
///
///   replicated_update.cpp   every rank updates everything, as soon as its sum is there: between the steps of backward,
///                           or in the next forward right before a step reads it. No message is sent but the sums
///   sharded_update.cpp      each rank updates its own elements when all sums are there (-shard), and hands the weights
///                           to the others while the next forward goes on, which waits for them, layer by layer
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "net/net.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_reducer.h"
#include "solver/ranks/sums/gradient_sum.h"
#include "solver/ranks/votes.h"
#include "solver/trace/trace_recorder.h"
#include "solver/update/updater.h"

namespace robusta {

class RankedUpdate : public GradientSink, public ParamGate {
 public:
  /// Elements, and bytes, that a net must leave behind its gradients for the votes.
  static constexpr int64_t kTail = sizeof(Votes) / sizeof(double);
  static constexpr size_t kTailBytes = sizeof(Votes);

  /// The last backward of an iteration begins; updater.begin was called.
  struct Round {
    bool hold = false;             ///< nothing is updated before finish()
    bool shows_gradients = false;  ///< between agree() and finish() every rank looks at all sums. REQUIRES: hold
  };
  /// REQUIRES: the iteration before is finished.
  void begin(const Votes& mine, const Round& round);
  void ready(Param& param) override;
  /// The last one of a bucket.
  bool urgent(const Param& param) const override;
  /// After backward: waits for the last sum and returns the votes of all ranks.
  Votes agree();
  /// Waits for all buckets and updates what was not yet. Does nothing when all is done.
  virtual void finish() = 0;

  /// What compression has left out of the summed gradients, in the order of their memory; empty where nothing is kept.
  /// From here on the ranks share it out as they do when they begin with it. Collective. REQUIRES: finish().
  std::vector<float> settle_left();
  /// It will be added to the next sums. What does not fit the net is passed over, with a warning. Collective.
  void begin_with_left(const std::vector<float>& left);

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
  void wait_for(BucketId bucket);

  Ranks& ranks_;
  Updater& updater_;
  BucketReducer reducer_;
  const BucketId last_sum_;
  Round round_;
  BucketId next_{0};      ///< to be posted
  bool finished_ = true;  ///< no update is left to be made
  TraceRecorder* recorder_ = nullptr;

 private:
  int64_t gradients();
  void give_left(const std::vector<float>& left);

  const bool keeps_left_;
  DType type_;
  void* tail_;  ///< the votes, in host memory
  std::unordered_map<const Param*, BucketId> bucket_of_;
  IdVector<BucketId, size_t> missing_;  ///< parameters without a complete gradient
};

/// Of the kind that the sum is made for.
std::unique_ptr<RankedUpdate> make_ranked_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_replicated_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);
std::unique_ptr<RankedUpdate> make_sharded_update(Ranks& ranks, Net& net, Updater& updater, GradientSum sum);

}  // namespace robusta
