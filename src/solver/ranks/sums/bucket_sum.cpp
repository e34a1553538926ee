#include "solver/ranks/sums/bucket_sum.h"

#include "base/str.h"
#include "solver/ranks/sums/direct_sum.h"
#include "solver/ranks/sums/nccl/nccl_agreement.h"
#include "solver/ranks/sums/nccl/nccl_dimensions.h"
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {
namespace {

/// Over what communicators and hosts offer.
std::unique_ptr<AllReduce> all_reduce_of(Ranks& ranks, const Net& net, const std::vector<Bucket>& buckets,
                                         const DdlOptions& options) {
  return ranks.make_all_reduce(largest_bytes(buckets, net.options().dtype), options);
}

std::unique_ptr<BucketSum> staged(Ranks& ranks, Net& net, std::vector<Bucket> buckets, const DdlOptions& options,
                                  std::vector<std::string> notes = {}) {
  auto all_reduce = all_reduce_of(ranks, net, buckets, options);
  return std::make_unique<StagedSum>(net, std::move(buckets), std::move(all_reduce), std::move(notes));
}

/// The library's own sum takes the gradients where they lie.
bool is_direct(Ranks& ranks, const Net& net) {
  const Device& device = *net.options().device;
  return ranks.options().mode == 'm' && !device.is_host() && ranks.gradients().sums_memory_of(device.kernel_kind());
}

}  // namespace

std::unique_ptr<BucketSum> make_bucket_sum(Ranks& ranks, Net& net, std::vector<Bucket> buckets) {
  DdlOptions options = ranks.options();
  if (is_direct(ranks, net)) {
    auto all_reduce = all_reduce_of(ranks, net, buckets, options);
    return std::make_unique<DirectSum>(net, std::move(buckets), std::move(all_reduce));
  }
  const bool by_host = options.mode == 'm' || options.mode == 'r' || net.options().device->is_host();
  if (by_host) return staged(ranks, net, std::move(buckets), options);
  const NcclAgreement agreement = agree_on_nccl(ranks, *net.options().device);
  if (agreement.api && options.mode == 'n') return sum_by_nccl(ranks, net, std::move(buckets), *agreement.api);
  if (agreement.api) return sum_by_dimension(ranks, net, std::move(buckets), *agreement.api);
  std::vector<std::string> notes;
  if (options.mode == 'n') {
    const std::string refusal = agreement.refusal.empty() ? "NCCL was not found" : agreement.refusal;
    notes = {str("-mode n: ", refusal, ": one ring over the ", ranks.count(), " ranks instead")};
    options.mode = 'r';
  } else if (!agreement.refusal.empty()) {
    notes = {str(agreement.refusal, ": gradients go by way of host memory")};
  }
  return staged(ranks, net, std::move(buckets), options, std::move(notes));
}

}  // namespace robusta
