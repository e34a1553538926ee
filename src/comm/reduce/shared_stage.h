/// Sums within a host, in the ranks' own memory: each member reads its piece from all and writes the sum to all.
///
/// So data is read once and written once, and nobody copies. Short messages are copied to a board instead, from which
/// every member makes all sums itself, in the same order: one barrier less.
#pragma once

#include <memory>
#include <vector>

#include "comm/reduce/shared_barrier.h"
#include "comm/reduce/shared_regions.h"
#include "comm/reduce/stage.h"

namespace robusta {

class SharedStage : public Stage {
 public:
  /// `regions` hold all data that is reduced here, at the same place on every member; they and `board`
  /// (SharedBarrier::kBytes) reach the group.
  SharedStage(Communicator& world, Group group, std::shared_ptr<const SharedRegions> regions,
              std::shared_ptr<SharedMemory> board, bool crowded);
  std::string name() const override { return "shared memory"; }
  void reduce_scatter(const Span& span) override;
  void all_gather(const Span& span) override;
  void all_reduce(const Span& span) override;
  void meet() override { barrier_.wait(); }

 private:
  /// Elements that are summed at once; they stay in the first-level cache.
  static constexpr int64_t kBlock = 2048;

  void reduce_short(const Span& span);
  /// This member's sums of one block, into `sums`.
  void sum_block(const Span& block, std::byte* sums) const;
  template <typename Work>
  void for_blocks(const Span& span, const Work& work) const;
  void write_to_all(const Span& block, const std::byte* sums) const;

  Group group_;
  std::shared_ptr<const SharedRegions> regions_;
  SharedBarrier barrier_;
  int turn_ = 0;        ///< the place of the last short message: they alternate
  size_t short_bytes_;  ///< data up to this size goes over the board
};

}  // namespace robusta
