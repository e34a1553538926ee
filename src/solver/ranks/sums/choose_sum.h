/// Which kind of sum the buckets of a training take.
#pragma once

#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/ranks/model/model_ranks.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_sum.h"

namespace robusta {

/// What the options (those of the ranks, or what stands for them) and the machine suggest; `buckets` lie in the memory
/// of the net's device, and the last of them has the tail. `model`: how layers of the net are cut; null: they are not.
/// Collective. References are kept. Throws Error{kUsage|kMemory|kDevice|kCommunication} on all ranks.
std::unique_ptr<BucketSum> make_bucket_sum(Ranks& ranks, Net& net, Buckets buckets, const DdlOptions& options,
                                           const ModelRanks* model = nullptr);

}  // namespace robusta
