// Where -mode becomes a kind of sum. All ranks come to the same choice: it follows from the options, which are the
// same, and from what they have agreed on about NCCL.
#include "solver/ranks/sums/choose_sum.h"

#include "base/str.h"
#include "solver/ranks/sums/adasum.h"
#include "solver/ranks/sums/cut_sum.h"
#include "solver/ranks/sums/direct_sum.h"
#include "solver/ranks/sums/local_sum.h"
#include "solver/ranks/sums/nccl/nccl_agreement.h"
#include "solver/ranks/sums/nccl/nccl_dimensions.h"
#include "solver/ranks/sums/servers/served_sum.h"
#include "solver/ranks/sums/sharded_gradients.h"
#include "solver/ranks/sums/sharded_sum.h"
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {
namespace {

class SumChooser {
 public:
  SumChooser(Ranks& ranks, Net& net, Buckets buckets, const DdlOptions& options, const ModelRanks* model)
      : ranks_(ranks),
        net_(net),
        buckets_(std::move(buckets)),
        device_(*net.options().device),
        options_(options),
        model_(model) {}

  std::unique_ptr<BucketSum> choose() {
    const ReduceMode mode = options_.mode;
    const bool keeps_what_is_left = options_.wire.keeps_left();  // in the memory of the host
    if (device_.is_host() || mode == ReduceMode::kRing || keeps_what_is_left || needs_tail_alone())
      return by_host(options_);
    // A member of NCCL's that is gone takes the communicator with it; sockets let the others go on.
    if (ranks_.elastic()) return by_host(options_);
    if (mode == ReduceMode::kLibrary) return library_takes_device_memory() ? direct() : by_host(options_);
    const NcclAgreement nccl = agree_on_nccl(ranks_, device_);
    if (!nccl.api) return without_nccl(nccl.refusal);
    return mode == ReduceMode::kNccl ? sum_by_nccl(ranks_, net_, std::move(buckets_), *nccl.api)
                                     : sum_by_dimension(ranks_, net_, std::move(buckets_), *nccl.api);
  }

 private:
  /// What sums neither all nor only gradients does so in memory of the host, and the tail apart from them.
  bool needs_tail_alone() const {
    return options_.shard != Shard::kNone || has_local_steps(options_) || options_.op == GradientOp::kAdasum ||
           options_.served.servers > 0;
  }
  bool library_takes_device_memory() const { return ranks_.gradients().sums_memory_of(device_.kernel_kind()); }

  /// Over what communicators and hosts offer.
  std::unique_ptr<AllReduce> all_reduce(const DdlOptions& options) {
    return ranks_.group().make_all_reduce(largest_bytes(buckets_, net_.options().dtype), options);
  }

  std::unique_ptr<BucketSum> direct() {
    auto reduction = all_reduce(options_);
    return std::make_unique<DirectSum>(net_, std::move(buckets_), std::move(reduction));
  }

  std::unique_ptr<BucketSum> by_host(const DdlOptions& options, std::vector<std::string> notes = {}) {
    auto reduction = all_reduce(options);
    if (model_)
      return std::make_unique<CutSum>(ranks_, net_, *model_, std::move(buckets_), std::move(reduction),
                                      std::move(notes));
    if (!needs_tail_alone())
      return std::make_unique<StagedSum>(net_, std::move(buckets_), std::move(reduction), std::move(notes));
    const Bucket tail = take_tail(buckets_, net_.options().dtype);
    if (options.served.servers > 0) return with_tail<ServedSum>(tail, std::move(reduction), std::move(notes));
    if (options.op == GradientOp::kAdasum) return with_tail<Adasum>(tail, std::move(reduction), std::move(notes));
    if (has_local_steps(options)) return with_tail<LocalSum>(tail, std::move(reduction), std::move(notes));
    if (options.shard == Shard::kGradients)
      return with_tail<ShardedGradients>(tail, std::move(reduction), std::move(notes));
    return with_tail<ShardedSum>(tail, std::move(reduction), std::move(notes));
  }

  template <typename Sum>
  std::unique_ptr<BucketSum> with_tail(const Bucket& tail, std::unique_ptr<AllReduce> sum,
                                       std::vector<std::string> notes) {
    return std::make_unique<Sum>(ranks_, net_, std::move(buckets_), tail, std::move(sum), std::move(notes));
  }

  /// `refusal`: why NCCL cannot be used; "" where nobody asked for it.
  std::unique_ptr<BucketSum> without_nccl(const std::string& refusal) {
    DdlOptions options = options_;
    if (options.mode == ReduceMode::kNccl) {
      options.mode = ReduceMode::kRing;
      return by_host(options, {str("-mode n: ", refusal.empty() ? "NCCL was not found" : refusal,
                                   ": one ring over the ", ranks_.count(), " ranks instead")});
    }
    if (refusal.empty()) return by_host(options);
    return by_host(options, {str(refusal, ": gradients go by way of host memory")});
  }

  Ranks& ranks_;
  Net& net_;
  Buckets buckets_;
  Device& device_;
  const DdlOptions& options_;
  const ModelRanks* const model_;
};

}  // namespace

std::unique_ptr<BucketSum> make_bucket_sum(Ranks& ranks, Net& net, Buckets buckets, const DdlOptions& options,
                                           const ModelRanks* model) {
  return SumChooser(ranks, net, std::move(buckets), options, model).choose();
}

}  // namespace robusta
