// BlueConnect (Cho et al. 2019): the piece that leaves dimension k has 1/n_k of what entered it.

#include "comm/reduce/layered.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>

#include "base/str.h"

namespace robusta {
namespace {

/// Where the elements of a part begin in the whole.
int64_t index_of(const Span& part, const Span& whole) {
  return (part.data - whole.data) / static_cast<std::ptrdiff_t>(size_of(whole.type));
}

}  // namespace

LayeredAllReduce::LayeredAllReduce(std::vector<ReduceLayer> layers, std::string shape,
                                   std::shared_ptr<const SharedRegions> regions, std::vector<std::string> notes)
    : layers_(std::move(layers)),
      shape_(std::move(shape)),
      regions_(std::move(regions)),
      notes_(std::move(notes)),
      seconds_(layers_.size()),
      bytes_(layers_.size()) {}

void LayeredAllReduce::sum(void* data, int64_t count, DType type, int64_t exact) {
  const Span span{static_cast<std::byte*>(data), count, type, exact};
  if (layers_.empty()) return;
  if (regions_ && !regions_->holds(span)) return sum_by_staging(span);
  reduce(span, 0);
}

/// For data that the other ranks of the host do not see: through memory that they do, piece by piece.
void LayeredAllReduce::sum_by_staging(const Span& span) {
  SharedMemory& staging = regions_->staging();
  const auto most = static_cast<int64_t>(staging.bytes() / size_of(span.type));
  for (int64_t begin = 0; begin < span.count; begin += most) {
    const Span part = span.part(begin, std::min(begin + most, span.count));
    const Span staged{static_cast<std::byte*>(staging.data()), part.count, part.type, part.exact};
    std::memcpy(staged.data, part.data, part.bytes());
    reduce(staged, 0);
    std::memcpy(part.data, staged.data, part.bytes());
  }
}

void LayeredAllReduce::reduce(const Span& span, size_t depth) {
  if (depth + 1 == layers_.size()) {
    timed(depth, span, 2, [&] { layers_[depth].stage->all_reduce(span); });
    return;
  }
  timed(depth, span, 1, [&] { layers_[depth].stage->reduce_scatter(span); });
  reduce(piece_of(span, depth), depth + 1);
  timed(depth, span, 1, [&] { layers_[depth].stage->all_gather(span); });
}

ElementRange LayeredAllReduce::own(int64_t count) const {
  ElementRange mine{0, count};
  for (const ReduceLayer& layer : layers_) {
    const ElementRange piece = Span::piece_range(mine.count(), layer.position, layer.members);
    mine = {mine.begin + piece.begin, mine.begin + piece.end};
  }
  return mine;
}

void LayeredAllReduce::reduce_scatter(void* data, int64_t count, DType type, int64_t exact) {
  const Span span{static_cast<std::byte*>(data), count, type, exact};
  assert(!regions_ || regions_->holds(span));
  scatter(span, 0);
}

void LayeredAllReduce::all_gather(void* data, int64_t count, DType type) {
  gather({static_cast<std::byte*>(data), count, type, count}, 0);
}

void LayeredAllReduce::meet() {
  for (const ReduceLayer& layer : layers_) layer.stage->meet();
}

void LayeredAllReduce::sum_inner(void* data, int64_t count, DType type) {
  if (layers_.empty() || !layers_[0].innermost) return;
  const Span span{static_cast<std::byte*>(data), count, type};
  assert(!regions_ || regions_->holds(span));
  timed(0, span, 2, [&] { layers_[0].stage->all_reduce(span); });
}

void LayeredAllReduce::scatter(const Span& span, size_t depth) {
  if (depth == layers_.size()) return;
  timed(depth, span, 1, [&] { layers_[depth].stage->reduce_scatter(span); });
  scatter(piece_of(span, depth), depth + 1);
}

void LayeredAllReduce::gather(const Span& span, size_t depth) {
  if (depth == layers_.size()) return;
  gather(piece_of(span, depth), depth + 1);
  timed(depth, span, 1, [&] { layers_[depth].stage->all_gather(span); });
}

bool LayeredAllReduce::add_left(void* data, int64_t count, float* left) {
  const Span span{static_cast<std::byte*>(data), count, DType::kF32};
  bool keeps = false;
  for (const ReduceLayer& layer : layers_) {
    const float* const kept = layer.stage->left_of(span);
    if (!kept) continue;
    keeps = true;
    for (int64_t i = 0; i < count; ++i) left[i] += kept[i];
  }
  return keeps;
}

/// One rank may keep what is left of an element, of those whose part of the data it is in: here the first member of the
/// innermost dimension that keeps anything.
void LayeredAllReduce::give_left(void* data, int64_t count, const float* left) {
  const Span span{static_cast<std::byte*>(data), count, DType::kF32};
  Span mine = span;
  bool given = false;
  for (const ReduceLayer& layer : layers_) {
    float* const kept = layer.stage->left_of(span);
    if (kept) std::fill_n(kept, count, 0.0f);
    const int64_t first = index_of(mine, span);
    if (kept && !given && layer.position == 0) std::copy_n(left + first, mine.count, kept + first);
    given = given || kept;
    mine = mine.piece(layer.position, layer.members);
  }
}

template <typename Work>
void LayeredAllReduce::timed(size_t depth, const Span& span, int passes, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  // Of n members each sends (n-1)/n of the data in a reduce-scatter, and again in an all-gather.
  const int members = layers_[depth].members;
  seconds_[depth] += std::chrono::duration<double>(Clock::now() - start).count();
  bytes_[depth] += static_cast<double>(layers_[depth].stage->wire_bytes(span)) * passes * (members - 1) / members;
}

std::string LayeredAllReduce::describe() const {
  if (layers_.empty()) return "one rank: nothing to sum";
  std::string stages;
  for (const ReduceLayer& layer : layers_) stages += (stages.empty() ? "" : "; ") + layer.stage->name();
  return str(shape_, ": ", stages);
}

std::vector<DimensionTime> LayeredAllReduce::take_times() {
  std::vector<DimensionTime> times;
  for (size_t i = 0; i < layers_.size(); ++i) {
    times.push_back({layers_[i].dimension, layers_[i].stage->name(), seconds_[i], bytes_[i]});
    seconds_[i] = bytes_[i] = 0;
  }
  return times;
}

}  // namespace robusta
