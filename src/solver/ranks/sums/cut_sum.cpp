// Parts are equal and lie one after the other, in the order of the ranks of a group.
#include "solver/ranks/sums/cut_sum.h"

#include <cassert>
#include <chrono>
#include <cstring>

#include "base/str.h"
#include "comm/pairwise.h"

namespace robusta {
namespace {

std::byte* begin_of(void* array, ElementRange part, DType type) {
  return static_cast<std::byte*>(array) + static_cast<size_t>(part.begin) * size_of(type);
}

size_t bytes_of(ElementRange part, DType type) { return static_cast<size_t>(part.count()) * size_of(type); }

}  // namespace

CutSum::CutSum(Ranks& ranks, Net& net, const ModelRanks& model, Buckets buckets, std::unique_ptr<AllReduce> all_reduce,
               std::vector<std::string> notes)
    : StagedSum(net, std::move(buckets), std::move(all_reduce), std::move(notes)),
      ranks_(ranks),
      model_(model),
      part_times_{"model parts", "gradients", 0, 0} {
  assert(!stream_);
  for (const Bucket& bucket : buckets_) {
    for (const Param* param : bucket.params) {
      if (const ModelGroup* group = model.group_of(*param)) own_[param] = group->own(param->desc.count());
    }
  }
}

void CutSum::sum(BucketId id) {
  const Bucket& bucket = buckets_[id];
  if (bucket.params.empty() || !own_.contains(bucket.params[0])) return StagedSum::sum(id);
  sum_part(bucket);
  if (whole_) gather_gradients(*bucket.params[0]);
}

void CutSum::sum_part(const Bucket& bucket) {
  Communicator& same = model_.same_part(*bucket.params[0]);
  if (same.size() == 1) return;
  const auto start = std::chrono::steady_clock::now();
  sum_in_order(same, bucket.data, bucket.count, type_, scratch_);
  part_times_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  part_times_.bytes += static_cast<double>(scratch_.size()) * (same.size() - 1) / same.size();  // to sum, and summed
}

void CutSum::gather_gradients(const Param& param) {
  const ElementRange own = *this->own(param);
  scratch_.resize(bytes_of(own, type_));
  std::memcpy(scratch_.data(), begin_of(param.diff, own, type_), scratch_.size());
  model_.all_parts(param).all_gather(scratch_.data(), scratch_.size(), param.diff);
}

std::string CutSum::describe() const {
  return str(all_reduce_->describe(), "; ", model_.cuts().size(),
             model_.cuts().size() == 1 ? " layer is" : " layers are", " model parallel");
}

std::vector<DimensionTime> CutSum::take_times() {
  std::vector<DimensionTime> times = StagedSum::take_times();
  if (part_times_.bytes > 0) times.push_back(part_times_);
  part_times_.seconds = part_times_.bytes = 0;
  const ModelRanks::Exchanged now = model_.exchanged();
  times.push_back({"model parts", "activations", now.seconds - told_.seconds, now.bytes - told_.bytes});
  told_ = now;
  return times;
}

std::optional<ElementRange> CutSum::own(const Param& param) const {
  const auto found = own_.find(&param);
  if (found == own_.end()) return std::nullopt;
  return found->second;
}

int CutSum::owners(const Param& param) const {
  const ModelGroup* const group = model_.group_of(param);
  return group ? ranks_.count() / group->parts() : 1;
}

/// Rank 0's group has all parts.
std::vector<float> CutSum::whole(const Param& param, const std::vector<float>& own) {
  const int parts = model_.group_of(param)->parts();
  if (ranks_.rank() >= parts) return {};
  const Ranks::Waiting waiting(ranks_);
  Communicator& control = ranks_.control();
  const size_t bytes = own.size() * sizeof(float);
  if (!ranks_.root()) {
    control.exchange(own.data(), bytes, 0, nullptr, 0, -1);
    return {};
  }
  std::vector<float> all(own.size() * static_cast<size_t>(parts));
  std::copy(own.begin(), own.end(), all.begin());
  for (int rank = 1; rank < parts; ++rank) {
    control.exchange(nullptr, 0, -1, all.data() + own.size() * static_cast<size_t>(rank), bytes, rank);
  }
  return all;
}

void CutSum::drop_others() {
  for (const auto& [param, own] : own_) net_.param_memory().keep_only(*param, own);
}

void CutSum::gather_weights() {
  std::vector<std::byte> mine;
  for (const ParamPtr& param : net_.params()) {
    const std::optional<ElementRange> own = this->own(*param);
    if (!own) continue;
    const std::byte* const part = begin_of(param->data, *own, type_);
    mine.assign(part, part + bytes_of(*own, type_));
    model_.group_of(*param)->all_gather(mine.data(), mine.size(), param->data);
    ++param->version;
  }
}

}  // namespace robusta
