/// Which elements of the parameters a rank updates, where the ranks share them out: states (-shard), or layers
/// (model_parts).
///
/// The optimizer's states of ZeRO's first stage (Rajbhandari, Rasley, Ruwase and He 2020, "ZeRO: Memory Optimizations
/// Toward Training Trillion Parameter Models", section 5.1): a rank keeps histories and averages of its own elements
/// alone. The elements of all ranks make up each shared parameter, and none belongs to two ranks, or each to as many.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element_range.h"
#include "layers/kit/param.h"

namespace robusta {

class Shards {
 public:
  virtual ~Shards() = default;
  /// Of a parameter's elements this rank's own, maybe none; nullopt: it is not shared, and every rank updates all of
  /// it.
  virtual std::optional<ElementRange> own(const Param& param) const = 0;
  /// How many ranks update the same elements of a shared parameter, with the same bits.
  virtual int owners(const Param& param) const { return 1; }
  /// Whether a rank goes on with the weights of its own elements and needs those of others in no step: then they are
  /// updated as soon as their gradients are there, and others get them by gather_weights() alone.
  virtual bool keep_weights() const { return false; }
  /// Where the sum of the gradients of this rank's own elements of a shared parameter lies when it is there, in memory
  /// of the net's device; null: among the parameter's gradient.
  virtual void* own_gradient(const Param& param) const { return nullptr; }
  /// Of what this rank keeps to itself it wants no element of others, until it gathers or gets them again: their memory
  /// may be given up. By the thread that drives the training, while nothing is summed.
  virtual void drop_others() {}
  /// What asks for it, for messages.
  virtual std::string_view asked_by() const { return "-shard"; }

  // Collective, by the thread that drives the training, between iterations; sum() also while one ends.

  /// Replaces the values by their sums over the ranks.
  virtual void sum(std::span<double> values) = 0;
  /// Whether this is the rank that gets what whole() puts together.
  virtual bool gets_whole() const = 0;
  /// Puts an array of a shared parameter together from what each rank has of it: on rank 0, the others get none.
  virtual std::vector<float> whole(const Param& param, const std::vector<float>& own) = 0;
  /// All ranks get the weights that each has in its own elements of the parameters.
  virtual void gather_weights() = 0;
};

}  // namespace robusta
