/// Each piece goes straight to its owner and, summed, straight back to all: two hops however many members, for data
/// that is too short to fill a link. Large data goes in rounds.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/ddl_options.h"
#include "comm/reduce/leftovers.h"
#include "comm/reduce/stage.h"
#include "comm/reduce/wire.h"

namespace robusta {

class DirectStage : public Stage {
 public:
  /// What the format leaves out of elements of `arena` (may be null) is kept, if it keeps that.
  DirectStage(Communicator& world, Group group, const WireFormat& format,
              std::shared_ptr<SharedMemory> arena = nullptr);
  std::string name() const override { return "direct"; }
  void reduce_scatter(const Span& span) override;
  void all_gather(const Span& span) override;
  size_t wire_bytes(const Span& span) const override { return Wire(format_, span.type).bytes(span); }
  float* left_of(const Span& span) override { return left_.at(span); }

 private:
  /// Calls round(begin, end), elements within each piece, until the longest piece is done.
  template <typename Round>
  void in_rounds(const Span& span, const Round& round);
  Span piece(const Span& span, int member, int64_t begin, int64_t end) const;
  void wait_all();
  int others() const { return group_.size() - 1; }
  /// The member `distance` places further on, by its position.
  int member(int distance) const { return (group_.position + distance) % group_.size(); }
  std::byte* outgoing(int index) { return buffers_.data() + static_cast<size_t>(index) * (round_ + Wire::kLonger); }
  std::byte* incoming(int index) { return outgoing(others() + index); }

  Group group_;
  WireFormat format_;
  Leftovers left_;
  size_t round_;                    ///< bytes for each peer and round
  std::vector<std::byte> buffers_;  ///< a round's bytes out, and as many in, for each other member
  std::unique_ptr<Channel> channel_;
};

}  // namespace robusta
