// Recursive vector halving (section 4.2): of two groups that combine, each rank takes the half of its elements from its
// partner and hands over the other half, so that after log2(M) levels each element is computed by one rank, and all get
// the same bits. Products of whole parameters are sums over all ranks that hold a part of them.
#include "solver/ranks/sums/adasum.h"

#include <algorithm>
#include <bit>

#include "base/str.h"
#include "comm/reduce/stage.h"
#include "robusta/error.h"

namespace robusta {
namespace {

Buckets with_tail(Buckets buckets, const Bucket& tail) {
  buckets.push_back(tail);
  return buckets;
}

void require_power_of_two(int groups) {
  if (std::has_single_bit(static_cast<unsigned>(groups))) return;
  throw Error(ErrorKind::kUsage,
              str("-op adasum combines groups of ranks in pairs, and there are ", groups, " of them"),
              "start a power of two of hosts, or give dims (-mode b:XxY) with such a Y");
}

}  // namespace

Adasum::Adasum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
               std::vector<std::string> notes)
    : StagedSum(net, with_tail(std::move(gradients), tail), std::move(sum), std::move(notes)),
      group_(std::max<int>(1, static_cast<int>(ranks.topology().inner_ranks().size()))) {
  Communicator& all = ranks.gradients();
  const std::vector<int> group = ranks.topology().inner_ranks();
  position_ = static_cast<int>(std::find(group.begin(), group.end(), all.rank()) - group.begin());
  across_ = all.split(position_, group.empty() ? all.rank() : group.front());
  require_power_of_two(across_->size());
  channel_ = across_->open_channel(2 * kSlots, Traffic::kBulk);
  for (int half = 1; half < across_->size(); half *= 2) {
    const int index = across_->rank();
    levels_.push_back({index ^ half, (index & half) == 0, all.split(index / (2 * half), all.rank())});
  }
  given_.resize(levels_.size());
  const size_t element = size_of(type_);
  size_t most_params = 0, most_bytes = 0;
  for (const BucketId b : buckets_.ids()) {
    params_.emplace_back();
    const auto* const begin = static_cast<const std::byte*>(gradients_at(b));
    for (const Param* param : buckets_[b].params) {
      const auto first = (static_cast<const std::byte*>(param->diff) - begin) / static_cast<std::ptrdiff_t>(element);
      params_[b].push_back({first, first + param->desc.count()});
    }
    most_params = std::max(most_params, params_[b].size());
    most_bytes = std::max(most_bytes, static_cast<size_t>(buckets_[b].count) * element);
  }
  received_.resize(most_bytes / 2 + element);
  products_.resize(3 * most_params);
}

void Adasum::sum(BucketId bucket) {
  const Bucket& b = buckets_[bucket];
  if (stream_) ranges_[bucket].copied->wait();
  if (bucket == last_sum()) return all_reduce_->sum(b.data, b.count, type_, b.exact);
  dispatch(type_, [&](auto type) { combine_groups<decltype(type)>(b, params_[bucket]); });
}

template <typename T>
void Adasum::combine_groups(const Bucket& bucket, const std::vector<ElementRange>& params) {
  T* const data = static_cast<T*>(bucket.data);
  if (group_ > 1) {
    all_reduce_->sum_inner(data, bucket.count, type_);
    for (int64_t i = 0; i < bucket.count; ++i) data[i] /= static_cast<T>(group_);
  }
  const ElementRange whole = Span::piece_range(bucket.count, position_, group_);
  ElementRange mine = whole;
  for (size_t k = 0; k < levels_.size(); ++k) {
    const int64_t middle = mine.begin + mine.count() / 2;
    const ElementRange lower{mine.begin, middle}, upper{middle, mine.end};
    const auto& [kept, given] = levels_[k].first ? std::pair(lower, upper) : std::pair(upper, lower);
    T* const theirs = reinterpret_cast<T*>(received_.data());
    swap(levels_[k], data + given.begin, given, theirs, kept);
    combine(levels_[k], params, kept, data, theirs);
    given_[k] = given;
    mine = kept;
  }
  for (size_t k = levels_.size(); k-- > 0;) {
    swap(levels_[k], data + mine.begin, mine, data + given_[k].begin, given_[k]);
    mine = {std::min(mine.begin, given_[k].begin), std::max(mine.end, given_[k].end)};
  }
  if (group_ == 1) return;
  // Each rank of the group has its piece: with zeros beside it their sum is the whole.
  std::fill(data, data + whole.begin, T{0});
  std::fill(data + whole.end, data + bucket.count, T{0});
  all_reduce_->sum_inner(data, bucket.count, type_);
}

template <typename T>
void Adasum::swap(const Level& level, const T* out, ElementRange given, T* in, ElementRange taken) {
  const auto segment = [](auto* data, ElementRange range, int64_t begin) {
    return std::span(data + std::min(begin, range.count()), data + std::min(begin + kSegment, range.count()));
  };
  const int64_t longest = std::max(given.count(), taken.count());
  int slot = 0;
  for (int64_t begin = 0; begin < longest; begin += kSegment, slot = (slot + 1) % kSlots) {
    channel_->wait(slot);
    channel_->wait(kSlots + slot);
    const auto into = segment(in, taken, begin);
    const auto from = segment(out, given, begin);
    if (!into.empty()) channel_->receive(kSlots + slot, into.data(), into.size_bytes(), level.partner);
    if (!from.empty()) channel_->send(slot, from.data(), from.size_bytes(), level.partner);
  }
  for (slot = 0; slot < 2 * kSlots; ++slot) channel_->wait(slot);
}

template <typename T>
void Adasum::combine(const Level& level, const std::vector<ElementRange>& params, ElementRange kept, T* mine,
                     const T* theirs) {
  mine += kept.begin;
  const T *const a = level.first ? mine : theirs, *const b = level.first ? theirs : mine;
  double* product = products_.data();
  for (const ElementRange& param : params) {
    const ElementRange part = param.within(kept);
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = part.begin; i < part.end; ++i) {
      ab += static_cast<double>(a[i]) * b[i];
      aa += static_cast<double>(a[i]) * a[i];
      bb += static_cast<double>(b[i]) * b[i];
    }
    product[0] = ab, product[1] = aa, product[2] = bb;
    product += 3;
  }
  level.groups->all_reduce(products_.data(), product - products_.data(), DType::kF64);
  product = products_.data();
  for (const ElementRange& param : params) {
    const ElementRange part = param.within(kept);
    const double ab = product[0], aa = product[1], bb = product[2];
    const auto of_a = static_cast<T>(aa > 0 ? 1 - ab / (2 * aa) : 1),
               of_b = static_cast<T>(bb > 0 ? 1 - ab / (2 * bb) : 1);
    for (int64_t i = part.begin; i < part.end; ++i) mine[i] = of_a * a[i] + of_b * b[i];
    product += 3;
  }
}

void Adasum::deliver(BucketId bucket) {
  if (bucket != last_sum()) StagedSum::deliver(bucket);
}

std::string Adasum::describe() const {
  return str("Adasum of ", across_->size(), " gradients",
             group_ > 1 ? str(", each the mean of the ", group_, " ranks of X") : "",
             "; the rest: ", all_reduce_->describe());
}

}  // namespace robusta
