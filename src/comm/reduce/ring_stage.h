/// Reduce-scatter and all-gather around a ring, in segments: while one is added, the next ones are on their way.
///
/// The bandwidth-optimal algorithm: each member sends 2(n-1)/n of the data (Patarasuk and Yuan, "Bandwidth optimal
/// all-reduce algorithms for clusters of workstations", 2009). Nothing is allocated after construction.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/ddl_options.h"
#include "comm/reduce/stage.h"

namespace robusta {

class RingStage : public Stage {
 public:
  RingStage(Communicator& world, Group group, const WireFormat& format);
  std::string name() const override { return "ring"; }
  void reduce_scatter(const Span& span) override;
  void all_gather(const Span& span) override;
  size_t wire_bytes(const Span& span) const override;

 private:
  class Pass;

  static constexpr int kSlots = 16;  // transfers under way in each direction
  /// Sends before the receive of the same number is waited for: a link of 1.5 Gbit/s is busy with them for 4 ms, the
  /// slice for which a thread that computes may keep the core.
  static constexpr int kAhead = 14;
  /// Short enough for Open MPI over TCP to send it at once (up to 64 KB with its header) rather than ask first: the
  /// answer would wait behind the data in the queues of the link.
  static constexpr size_t kSegment = size_t{60} << 10;

  std::byte* outgoing(int64_t item) { return buffers_.data() + static_cast<size_t>(item % kSlots) * kSegment; }
  std::byte* incoming(int64_t item) { return outgoing(item) + kSlots * kSegment; }

  Group group_;
  WireFormat format_;
  std::vector<std::byte> buffers_;  ///< kSlots segments out, and as many in
  std::unique_ptr<Channel> channel_;
};

}  // namespace robusta
