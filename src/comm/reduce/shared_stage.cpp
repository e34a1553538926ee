// Reduce-scatter and all-gather without copies: a barrier, each member sums its piece from all arenas and writes it to
// all, a barrier.

#include "comm/reduce/shared_stage.h"

#include <algorithm>
#include <cstring>

#include "comm/reduce/arithmetic.h"

namespace robusta {

SharedStage::SharedStage(Communicator& world, Group group, std::shared_ptr<const SharedRegions> regions,
                         std::shared_ptr<SharedMemory> board, bool crowded)
    : group_(std::move(group)),
      regions_(std::move(regions)),
      barrier_(world, group_, std::move(board), crowded),
      short_bytes_(crowded ? SharedBarrier::kShort : SharedBarrier::kShort / 8) {}

template <typename Work>
void SharedStage::for_blocks(const Span& span, const Work& work) const {
  for (int64_t begin = 0; begin < span.count; begin += kBlock) {
    work(span.part(begin, std::min(begin + kBlock, span.count)));
  }
}

void SharedStage::sum_block(const Span& block, std::byte* sums) const {
  const auto of = [&](int member) { return regions_->counterpart(block.data, group_.rank_of(member)); };
  const Span into{sums, block.count, block.type};
  add_into(into, of(0), of(1));
  for (int member = 2; member < group_.size(); ++member) add(into, of(member));
}

void SharedStage::write_to_all(const Span& block, const std::byte* sums) const {
  for (const int rank : group_.ranks) std::memcpy(regions_->counterpart(block.data, rank), sums, block.bytes());
}

void SharedStage::reduce_scatter(const Span& span) {
  alignas(64) std::byte sums[kBlock * sizeof(double)];
  barrier_.wait();
  for_blocks(span.piece(group_.position, group_.size()), [&](const Span& block) {
    sum_block(block, sums);
    std::memcpy(block.data, sums, block.bytes());
  });
}

void SharedStage::all_gather(const Span& span) {
  // Nobody else reads this piece, in any member's memory, once its owner has summed it.
  const Span mine = span.piece(group_.position, group_.size());
  for (int distance = 1; distance < group_.size() && mine.count; ++distance) {
    std::memcpy(regions_->counterpart(mine.data, group_.neighbour(distance)), mine.data, mine.bytes());
  }
  barrier_.wait();
}

void SharedStage::all_reduce(const Span& span) {
  if (span.bytes() <= short_bytes_) return reduce_short(span);
  alignas(64) std::byte sums[kBlock * sizeof(double)];
  barrier_.wait();
  for_blocks(span.piece(group_.position, group_.size()), [&](const Span& block) {
    sum_block(block, sums);
    write_to_all(block, sums);
  });
  barrier_.wait();
}

void SharedStage::reduce_short(const Span& span) {
  turn_ = 1 - turn_;
  if (span.count) std::memcpy(barrier_.message(group_.position, turn_), span.data, span.bytes());
  barrier_.wait();
  add_into(span, barrier_.message(0, turn_), barrier_.message(1, turn_));
  for (int member = 2; member < group_.size(); ++member) add(span, barrier_.message(member, turn_));
}

}  // namespace robusta
