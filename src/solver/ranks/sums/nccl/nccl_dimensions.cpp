// Within a host NCCL is always the fastest way; between hosts the network decides, so each split between NCCL and the
// communicator is timed once for a set of hosts, and the choice is cached: another one would sum in another order.
#include "solver/ranks/sums/nccl/nccl_dimensions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/str.h"
#include "comm/reduce/choice_cache.h"
#include "comm/reduce/explore.h"
#include "solver/ranks/sums/staged_sum.h"

namespace robusta {
namespace {

/// The reduction over the outer dimensions, with the communicator that it works on.
class OuterAllReduce : public AllReduce {
 public:
  /// `names`: of the dimensions, as all ranks know them.
  OuterAllReduce(std::unique_ptr<Communicator> world, const DdlOptions& options, size_t largest_bytes,
                 std::vector<std::string> names)
      : world_(std::move(world)),
        names_(std::move(names)),
        all_reduce_(make_all_reduce(*world_, find_topology(*world_, options), options, nullptr, largest_bytes)) {}
  void sum(void* data, int64_t count, DType type, int64_t exact) override {
    all_reduce_->sum(data, count, type, exact);
  }
  std::string describe() const override { return all_reduce_->describe(); }
  std::vector<DimensionTime> take_times() override {
    std::vector<DimensionTime> times = all_reduce_->take_times();
    for (size_t i = 0; i < times.size() && times.size() == names_.size(); ++i) times[i].dimension = names_[i];
    return times;
  }
  std::vector<std::string> notes() const override { return all_reduce_->notes(); }

 private:
  std::unique_ptr<Communicator> world_;
  std::vector<std::string> names_;
  std::unique_ptr<AllReduce> all_reduce_;
};

/// The candidates: how many of the inner dimensions are NCCL's.
class Candidates {
 public:
  Candidates(Ranks& ranks, Net& net, Buckets buckets, const NcclApi& api)
      : ranks_(ranks),
        net_(net),
        buckets_(std::move(buckets)),
        api_(api),
        dimensions_(ranks.topology().dimensions),
        compresses_(ranks.options().wire.compress != Compression::kNone) {
    for (const Dimension& dimension : dimensions_) crossings_.push_back(dimension.one_host ? 0 : 1);
    ranks.sum(crossings_);
    connect_all();
  }

  std::unique_ptr<BucketSum> best() {
    if (least() == connected_.size()) return make(least());
    ChoiceCache cache(ranks_.gradients(), ranks_.topology(), default_choice_cache());
    const std::string known = cache.find(kKey);
    for (size_t count = least(); count <= connected_.size(); ++count) {
      if (known == std::to_string(count)) return make(count);
    }
    const size_t fastest = try_all();
    cache.remember(kKey, std::to_string(fastest));
    cache.save();
    return make(fastest);
  }

 private:
  static constexpr char kKey[] = "nccl";

  bool within_hosts(size_t dimension) const { return crossings_[dimension] == 0; }
  size_t least() const { return within_hosts(0) ? 1 : 0; }

  void connect_all() {
    Device& device = *net_.options().device;
    for (size_t d = 0; d < dimensions_.size() && (within_hosts(d) || !compresses_); ++d) {
      if (d < least()) {
        connected_.push_back(connect_nccl(ranks_, api_, device, dimensions_[d]));
        continue;
      }
      std::string why;
      const auto found = try_nccl(ranks_, api_, device, dimensions_[d], why);
      if (!found) notes_.push_back(str("dimension ", dimensions_[d].name, " does without NCCL: ", why));
      if (!found) return;
      connected_.push_back(*found);
    }
  }

  /// Over the ranks that hold the same part after the first `count` dimensions.
  std::unique_ptr<AllReduce> between(size_t count) {
    DdlOptions options = ranks_.options();
    options.dims.clear();
    std::vector<std::string> names;
    int part = 0, place = 0;
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      const auto members = static_cast<int>(dimensions_[d].ranks.size());
      int& number = d < count ? part : place;
      number = number * members + dimensions_[d].position;
      if (d < count) continue;
      names.push_back(title_of(dimensions_[d]));
      if (options.mode != ReduceMode::kAutomatic) options.dims.push_back(members);
    }
    return std::make_unique<OuterAllReduce>(ranks_.gradients().split(part, place), options, largest(),
                                            std::move(names));
  }

  size_t largest() const { return largest_bytes(buckets_, net_.options().dtype); }

  std::unique_ptr<BucketSum> make(size_t count) {
    if (count == 0) {
      auto all_reduce = ranks_.make_all_reduce(largest(), ranks_.options());
      return std::make_unique<StagedSum>(net_, buckets_, std::move(all_reduce), notes_);
    }
    const std::vector<NcclDimension> inner(connected_.begin(), connected_.begin() + static_cast<std::ptrdiff_t>(count));
    return std::make_unique<NcclSum>(net_, buckets_, inner, count < dimensions_.size() ? between(count) : nullptr,
                                     nccl_patience(ranks_), notes_);
  }

  /// The gradients are zeros as yet, and stay so.
  size_t try_all() {
    size_t fastest = 0;
    double least_seconds = INFINITY;
    for (size_t count = least(); count <= connected_.size(); ++count) {
      const std::unique_ptr<BucketSum> sums = make(count);
      const double seconds = measure(ranks_.gradients(), [&] {
        for (const BucketId b : buckets_.ids()) sums->complete(b);
        for (const BucketId b : buckets_.ids()) sums->sum(b);
      });
      notes_.push_back(str(sums->describe(), ": ", std::round(seconds * 1e6) / 1e3, " ms for all buckets"));
      if (seconds < least_seconds) least_seconds = seconds, fastest = count;
    }
    return fastest;
  }

  Ranks& ranks_;
  Net& net_;
  Buckets buckets_;
  const NcclApi& api_;
  std::vector<Dimension> dimensions_;
  bool compresses_;
  std::vector<double> crossings_;  ///< per dimension: ranks whose group is not on one host
  std::vector<NcclDimension> connected_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<BucketSum> sum_by_nccl(Ranks& ranks, Net& net, Buckets buckets, const NcclApi& api) {
  const std::vector<std::string>& hosts = ranks.topology().hosts;
  Dimension all{"all", std::vector<int>(hosts.size()), ranks.rank(), false};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  all.one_host = std::count(hosts.begin(), hosts.end(), hosts[0]) == ranks.count();
  std::vector<std::string> notes;
  if (ranks.options().wire.compress != Compression::kNone)
    notes.push_back("-compress: NCCL sends gradients as they are");
  std::vector<NcclDimension> dimensions = {connect_nccl(ranks, api, *net.options().device, all)};
  return std::make_unique<NcclSum>(net, std::move(buckets), std::move(dimensions), nullptr, nccl_patience(ranks),
                                   std::move(notes));
}

std::unique_ptr<BucketSum> sum_by_dimension(Ranks& ranks, Net& net, Buckets buckets, const NcclApi& api) {
  return Candidates(ranks, net, std::move(buckets), api).best();
}

}  // namespace robusta
