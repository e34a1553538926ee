/// Which kind of sum the buckets of a training take.
#pragma once

#include <memory>
#include <vector>

#include "net/net.h"
#include "solver/ranks/ranks.h"
#include "solver/ranks/sums/bucket_sum.h"

namespace robusta {

/// What the options (those of the ranks, or what stands for them) and the machine suggest; `buckets` lie in the memory
/// of the net's device, and the last of them has the tail. Collective. References are kept. Throws
/// Error{kUsage|kMemory|kDevice|kCommunication} on all ranks.
std::unique_ptr<BucketSum> make_bucket_sum(Ranks& ranks, Net& net, Buckets buckets, const DdlOptions& options);

}  // namespace robusta
