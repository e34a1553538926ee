/// Sums of gradients where layers are cut: a rank has gradients of its own part of a cut parameter alone, which are
/// sums over the batches of its group already, and are summed over the ranks that have the same part. All others are
/// StagedSum's.
///
/// Weights and gradients of the other parts take no memory from drop_others() on: weights until gather_weights(),
/// gradients until those of a round are wanted whole.
#pragma once

#include <unordered_map>

#include "solver/ranks/model/model_ranks.h"
#include "solver/ranks/sums/staged_sum.h"
#include "solver/update/shards.h"

namespace robusta {

class CutSum : public StagedSum, public Shards {
 public:
  /// Each parameter that is cut has a bucket of its own, of this rank's elements (buckets.h). References are kept.
  /// REQUIRES: a net on the host.
  CutSum(Ranks& ranks, Net& net, const ModelRanks& model, Buckets buckets, std::unique_ptr<AllReduce> all_reduce,
         std::vector<std::string> notes);

  void sum(BucketId bucket) override;
  Shards* shards() override { return this; }
  void begin_round(Gradients wanted) override { whole_ = wanted == Gradients::kWhole; }
  std::string describe() const override;
  /// Those of the sums of parts, and of activations, follow.
  std::vector<DimensionTime> take_times() override;

  std::optional<ElementRange> own(const Param& param) const override;
  int owners(const Param& param) const override;
  bool keep_weights() const override { return true; }
  void drop_others() override;
  std::string_view asked_by() const override { return "model_parts"; }
  void sum(std::span<double> values) override { ranks_.sum(values); }
  bool gets_whole() const override { return ranks_.root(); }
  std::vector<float> whole(const Param& param, const std::vector<float>& own) override;
  void gather_weights() override;

 private:
  void sum_part(const Bucket& bucket);
  /// The parts of all ranks, each of which has its own in its place.
  void gather_gradients(const Param& param);

  Ranks& ranks_;
  const ModelRanks& model_;
  std::unordered_map<const Param*, ElementRange> own_;  ///< of the parameter's elements
  bool whole_ = false;                                  ///< the gradients of this round are wanted by all
  std::vector<std::byte> scratch_;                      ///< of the thread that sums
  DimensionTime part_times_;                            ///< sums of parts since take_times()
  ModelRanks::Exchanged told_;                          ///< of activations, up to then
};

}  // namespace robusta
