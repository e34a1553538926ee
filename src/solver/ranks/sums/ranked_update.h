/// Updates the parameters from gradients that are summed over ranks, while training goes on.
///
/// As backward completes the parameters of a bucket, the bucket is reduced by another thread; as soon as it is, its
/// parameters are updated: between the steps of backward, or in the next forward right before a step reads them. What
/// the ranks have to agree on in every iteration rides behind the last bucket: no other message is sent.
#pragma once

#include <unordered_map>
#include <vector>

#include "net/net.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_reducer.h"
#include "solver/ranks/sums/compressed_params.h"
#include "solver/ranks/votes.h"
#include "solver/trace/trace_recorder.h"
#include "solver/update/updater.h"

namespace robusta {

class RankedUpdate : public GradientSink, public ParamGate {
 public:
  /// Bytes that a net must leave behind its gradients for the votes.
  static constexpr size_t kTailBytes = sizeof(Votes);

  /// Collective. The net has options.gradient_memory of `ranks`. References are kept.
  RankedUpdate(Ranks& ranks, Net& net, Updater& updater);

  /// The last backward of an iteration begins; updater.begin was called. With `hold` nothing is updated before finish.
  /// REQUIRES: the iteration before is finished.
  void begin(const Votes& mine, bool hold);
  void ready(Param& param) override;
  /// The last one of a bucket.
  bool urgent(const Param& param) const override;
  /// After backward: waits for the last bucket and returns the votes of all ranks.
  Votes agree();
  void need(Param& param) override;
  /// Waits for all buckets and updates what was not yet. Does nothing when all is done.
  void finish();

  /// What compression has left out of the summed gradients, in the order of their memory; empty where nothing is kept.
  /// From here on the ranks share it out as they do when they begin with it. Collective. REQUIRES: finish().
  std::vector<float> settle_left();
  /// It will be added to the next sums. What does not fit the net is passed over, with a warning. Collective.
  void begin_with_left(const std::vector<float>& left);

  BucketReducer& reducer() { return reducer_; }
  /// Notes what it does from now on. It outlives this.
  void record_in(TraceRecorder& recorder);

 private:
  void post();
  int64_t gradients() const;
  void give_left(const std::vector<float>& left);
  BucketId last() const { return missing_.end_id() - 1; }
  void wait_for(BucketId bucket);
  void update(BucketId bucket);
  void update_reduced();

  Ranks& ranks_;
  Updater& updater_;
  const CompressedParams compressed_;
  DType type_;
  BucketReducer reducer_;
  void* tail_;  ///< the votes, in host memory
  std::unordered_map<const Param*, BucketId> bucket_of_;
  IdVector<BucketId, char> updated_;    ///< of this iteration
  IdVector<BucketId, size_t> missing_;  ///< parameters without a complete gradient
  TraceRecorder* recorder_ = nullptr;
  BucketId next_{0};                     ///< to be posted
  bool hold_ = false, finished_ = true;  ///< updates wait until all sums are there; none is left to be made
};

}  // namespace robusta
