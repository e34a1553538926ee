/// Sums whose rounds end with buckets of weights, which travel in the memory of their gradients; those are then lost.
///
/// Buckets of a round, in this order: those of gradients; one of the tail alone, which all ranks get; those of weights,
/// the last of the first kind first, as the next forward begins with their layers. Kinds:
///
///   sharded_sum.h         gradients are summed for those who update them, and the weights handed to all
///   sharded_gradients.h   the same, and buckets share memory
///   local_sum.h           gradients are summed within a group of ranks, and the weights of all groups averaged now and
///   then
#pragma once

#include <string>
#include <vector>

#include "base/element_range.h"
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {

class CarryingSum : public StagedSum {
 public:
  BucketId last_sum() const override { return BucketId(gradients_); }
  BucketId weights_of(BucketId gradients) const override { return BucketId(2 * gradients_ - gradients.number()); }

 protected:
  /// A parameter in the memory of a bucket.
  struct Piece {
    Param* param;
    size_t place;  ///< in bytes, from the beginning of the bucket
  };

  /// `gradients`: without tail; `tail`: a bucket of it. The net is kept by reference.
  CarryingSum(Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> all_reduce,
              std::vector<std::string> notes);

  bool carries_weights(BucketId bucket) const { return bucket > last_sum(); }
  const std::vector<Piece>& pieces(BucketId bucket) const { return pieces_[bucket]; }

  // Of a bucket of weights, in the order of the net's stream:

  /// Copies these elements of the parameter to where they travel.
  void take(BucketId weights, const Piece& piece, ElementRange elements);
  /// All that travels is taken.
  void taken(BucketId weights);
  /// Copies what has travelled into the parameter.
  void put(BucketId weights, const Piece& piece, ElementRange elements);
  /// From the memory of a bucket to that of the net's device, in the order of its stream.
  void copy_in(void* to, const void* from, size_t bytes);
  /// All is put.
  void has_put(BucketId weights);

 private:
  const int gradients_;  ///< buckets
  IdVector<BucketId, std::vector<Piece>> pieces_;
};

}  // namespace robusta
