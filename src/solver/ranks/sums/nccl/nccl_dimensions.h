/// NCCL for the inner dimensions of a topology, and for the outer ones whatever is faster there.
#pragma once

#include <memory>

#include "solver/ranks/sums/bucket_sum.h"
#include "solver/ranks/sums/nccl/nccl_agreement.h"

namespace robusta {

/// -mode n: one all-reduce of NCCL's over all ranks. Collective.
std::unique_ptr<BucketSum> sum_by_nccl(Ranks& ranks, Net& net, Buckets buckets, const NcclApi& api);

/// The other modes: NCCL where the ranks of the innermost dimension share a host. Each dimension further out is
/// NCCL's, or goes by way of host memory, as do all outside of it: what sums a round of all buckets fastest is found by
/// trying and kept for these hosts. With -compress nothing between hosts is NCCL's. Collective.
std::unique_ptr<BucketSum> sum_by_dimension(Ranks& ranks, Net& net, Buckets buckets, const NcclApi& api);

}  // namespace robusta
