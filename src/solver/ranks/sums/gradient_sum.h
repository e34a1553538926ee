/// The sum of a training's gradients over its ranks: buckets, and what sums them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/ranks/model/model_ranks.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_sum.h"

namespace robusta {

struct GradientSum {
  std::unique_ptr<BucketSum> sums;
  int ranks = 1;            ///< over which gradients are summed
  bool keeps_left = false;  ///< what compression leaves out is kept for the next sums
};

/// For NetOptions::gradient_buckets: how gradients share memory, where each rank keeps its part of their sums
/// (-shard gradients). Null: they do not.
std::function<std::vector<size_t>(const std::vector<Param*>&)> gradients_that_share_memory(const DdlOptions& options);

/// Collective. The net has gradients_that_share_memory(), options.gradient_memory of `ranks`, and `tail` elements
/// behind its gradients. `model`: how its layers are cut; null: they are not. References are kept. Throws as
/// make_bucket_sum does.
GradientSum make_gradient_sum(Ranks& ranks, Net& net, int64_t tail, const ModelRanks* model = nullptr);

}  // namespace robusta
