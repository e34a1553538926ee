/// Adaptive summation of gradients (Maleki et al. 2021, "Scaling Distributed Training with Adaptive Summation",
/// section 3): of two gradients a and b of a parameter
///
///   adasum(a, b) = (1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b
///
/// which is their sum where they are orthogonal and their mean where they are parallel, so that the rate need not
/// change with the number of ranks. Gradients of a group, X, are averaged first, as by Horovod's hierarchical kind;
/// those of the groups are combined in pairs, pairs of pairs, and so on.
#pragma once

#include <memory>
#include <vector>

#include "base/element_range.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {

class Adasum : public StagedSum {
 public:
  /// `gradients`: without tail; `tail`: a bucket of it, which is summed as it is. Collective; the net is kept by
  /// reference. Throws Error{kUsage} where the groups are not a power of two. REQUIRES: `sum` is by dimension.
  Adasum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
         std::vector<std::string> notes);

  void sum(BucketId bucket) override;
  void deliver(BucketId bucket) override;
  BucketId last_sum() const override { return buckets_.end_id() - 1; }
  std::string describe() const override;

 private:
  /// Two halves of some groups, which combine what each of them has.
  struct Level {
    int partner = 0;                       ///< in across_: of the other half, with the same part of the elements
    bool first = false;                    ///< this rank is in the first half: its gradient is a
    std::unique_ptr<Communicator> groups;  ///< all ranks of both
  };

  /// Elements of a message, and messages under way in each direction, so that the link is never idle.
  static constexpr int64_t kSegment = int64_t{15} << 10;
  static constexpr int kSlots = 16;

  template <typename T>
  void combine_groups(const Bucket& bucket, const std::vector<ElementRange>& params);
  /// mine <- adasum(mine, theirs) for the elements `kept` of the bucket, with which `theirs` begins.
  template <typename T>
  void combine(const Level& level, const std::vector<ElementRange>& params, ElementRange kept, T* mine,
               const T* theirs);
  /// Hands a part of the bucket to the partner and takes another from it.
  template <typename T>
  void swap(const Level& level, const T* out, ElementRange given, T* in, ElementRange taken);

  const int group_;                       ///< ranks of X
  int position_ = 0;                      ///< in X
  std::unique_ptr<Communicator> across_;  ///< the ranks of this position of all groups, in the order of groups
  std::unique_ptr<Channel> channel_;      ///< among these
  std::vector<Level> levels_;
  std::vector<std::byte> received_;
  std::vector<double> products_;  ///< a.b, a.a and b.b of each parameter
  std::vector<ElementRange> given_;
  IdVector<BucketId, std::vector<ElementRange>> params_;  ///< of the elements of each bucket
};

}  // namespace robusta
