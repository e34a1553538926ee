/// Which elements of the parameters a rank updates, where the ranks share them out (-shard).
///
/// The optimizer's states of ZeRO's first stage (Rajbhandari, Rasley, Ruwase and He 2020, "ZeRO: Memory Optimizations
/// Toward Training Trillion Parameter Models", section 5.1): a rank keeps histories and averages of its own elements
/// alone. The elements of all ranks make up each shared parameter, and none belongs to two ranks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/element_range.h"
#include "layers/kit/param.h"

namespace robusta {

class Shards {
 public:
  virtual ~Shards() = default;
  /// That asks for them, for messages: "-shard".
  virtual std::string option() const { return "-shard"; }
  /// Of a parameter's elements this rank's own, maybe none; nullopt: it is not shared, and every rank updates all of
  /// it.
  virtual std::optional<ElementRange> own(const Param& param) const = 0;

  // Collective, by the thread that drives the training, between iterations; sum() also while one ends.

  /// Replaces the values by their sums over the ranks.
  virtual void sum(std::span<double> values) = 0;
  /// Puts an array of a shared parameter together from what each rank has of it: on rank 0, the others get none.
  virtual std::vector<float> whole(const Param& param, const std::vector<float>& own) = 0;
  /// All ranks get the weights that each has in its own elements of the parameters.
  virtual void gather_weights() = 0;
};

}  // namespace robusta
