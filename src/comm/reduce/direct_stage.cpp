// Every member owns a piece, receives the others' parts of it, adds them in one fixed order, and sends the sum back:
// two hops, which is the least for short data (Thakur, Rabenseifner and Gropp 2005, on latency).

#include "comm/reduce/direct_stage.h"

#include <algorithm>

namespace robusta {
namespace {

/// Half a megabyte under way, in messages that are worth their latency.
size_t round_bytes(int others) {
  constexpr size_t kAll = size_t{512} << 10, kLeast = size_t{4} << 10, kMost = size_t{64} << 10;
  return std::clamp(kAll / static_cast<size_t>(others) / kLeast * kLeast, kLeast, kMost);
}

}  // namespace

DirectStage::DirectStage(Communicator& world, Group group, const WireFormat& format,
                         std::shared_ptr<SharedMemory> arena)
    : group_(std::move(group)),
      format_(format),
      left_(format.keeps_left() ? std::move(arena) : nullptr),
      round_(round_bytes(others())),
      buffers_(2 * static_cast<size_t>(others()) * (round_ + Wire::kLonger)),
      channel_(world.open_channel(2 * others(), Traffic::kShort)) {}

template <typename Round>
void DirectStage::in_rounds(const Span& span, const Round& round) {
  const auto elements = static_cast<int64_t>(round_ / size_of(span.type));
  const int64_t longest = span.count / group_.size() + 2 * Span::kGrain;
  for (int64_t begin = 0; begin < longest; begin += elements) {
    round(begin, begin + elements);
    wait_all();
  }
}

Span DirectStage::piece(const Span& span, int member, int64_t begin, int64_t end) const {
  const Span whole = span.piece(member, group_.size());
  return whole.part(std::min(begin, whole.count), std::min(end, whole.count));
}

void DirectStage::wait_all() {
  for (int slot = 0; slot < 2 * others(); ++slot) channel_->wait(slot);
}

// Slots 0 .. n-2 send to the members 1, 2, ... places further on, the next n-1 receive from those as far behind.
void DirectStage::reduce_scatter(const Span& span) {
  const Wire wire(format_, span.type);
  in_rounds(span, [&](int64_t begin, int64_t end) {
    const Span mine = piece(span, group_.position, begin, end);
    for (int i = 0; i < others() && mine.count; ++i) {
      channel_->receive(others() + i, incoming(i), wire.bytes(mine), group_.neighbour(-1 - i));
    }
    for (int i = 0; i < others(); ++i) {
      const Span theirs = piece(span, member(1 + i), begin, end);
      if (theirs.count == 0) continue;
      channel_->send(i, wire.encode(theirs, outgoing(i), left_.at(theirs)), wire.bytes(theirs),
                     group_.neighbour(1 + i));
    }
    for (int i = 0; i < others() && mine.count; ++i) {
      channel_->wait(others() + i);
      wire.decode_add(incoming(i), mine);
    }
  });
}

void DirectStage::all_gather(const Span& span) {
  const Wire wire(format_, span.type);
  in_rounds(span, [&](int64_t begin, int64_t end) {
    const Span mine = piece(span, group_.position, begin, end);
    for (int i = 0; i < others(); ++i) {
      const Span theirs = piece(span, member(group_.size() - 1 - i), begin, end);
      if (theirs.count == 0) continue;
      void* into = wire.packs() ? incoming(i) : theirs.data;
      channel_->receive(others() + i, into, wire.bytes(theirs), group_.neighbour(-1 - i));
    }
    const void* packed = wire.share(mine, outgoing(0), left_.at(mine));
    for (int i = 0; i < others() && mine.count; ++i) {
      channel_->send(i, packed, wire.bytes(mine), group_.neighbour(1 + i));
    }
    for (int i = 0; i < others() && wire.packs(); ++i) {
      channel_->wait(others() + i);
      wire.decode(incoming(i), piece(span, member(group_.size() - 1 - i), begin, end));
    }
  });
}

}  // namespace robusta
