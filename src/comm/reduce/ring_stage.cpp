// The ring of Patarasuk and Yuan 2009, cut into segments so that adding one overlaps with receiving the next.

#include "comm/reduce/ring_stage.h"

#include <algorithm>

#include "comm/reduce/wire.h"

namespace robusta {

/// n-1 steps around the ring. In each, this member sends a piece and receives the one before it, in segments; item i is
/// segment i % segments_ of step i / segments_. What is received in one step is sent in the next.
///
/// It cannot lock up: a member waits for item i only after it has sent all items up to i, and it has posted the
/// receives of kSlots items beyond, so the member that is furthest behind can always go on.
class RingStage::Pass {
 public:
  Pass(RingStage& ring, const Span& span, int first_piece, bool adds)
      : ring_(ring), span_(span), wire_(ring.format_, span.type), first_piece_(first_piece), adds_(adds) {
    elements_ = static_cast<int64_t>(kSegment / size_of(span.type));
    const int64_t longest = span.count / members() + 2 * Span::kGrain;
    segments_ = (longest + elements_ - 1) / elements_;
    items_ = segments_ * (members() - 1);
  }

  void run() {
    for (int64_t item = 0; item < std::min<int64_t>(kSlots, items_); ++item) post(item);
    for (int64_t item = 0; item < items_; ++item) {
      while (received_ <= item - std::min<int64_t>(kAhead, segments_)) take();
      send(item);
    }
    while (received_ < items_) take();
    for (int slot = 0; slot < kSlots; ++slot) ring_.channel_->wait(slot);
  }

 private:
  int members() const { return ring_.group_.size(); }
  /// What is sent as this item.
  Span segment(int64_t item) const {
    const int64_t step = item / segments_, index = item % segments_;
    const int piece = static_cast<int>(((first_piece_ - step) % members() + members()) % members());
    const Span whole = span_.piece(piece, members());
    return whole.part(std::min(index * elements_, whole.count), std::min((index + 1) * elements_, whole.count));
  }
  Span received_segment(int64_t item) const { return segment(item + segments_); }
  /// A gathered piece that is not packed needs no buffer.
  bool is_direct() const { return !adds_ && !wire_.packs(); }

  void send(int64_t item) {
    const int slot = static_cast<int>(item % kSlots);
    const Span part = segment(item);
    ring_.channel_->wait(slot);
    if (part.count == 0) return;
    ring_.channel_->send(slot, wire_.encode(part, ring_.outgoing(item)), wire_.bytes(part), ring_.group_.neighbour(1));
  }
  void post(int64_t item) {
    const Span part = received_segment(item);
    if (part.count == 0) return;
    void* into = is_direct() ? part.data : ring_.incoming(item);
    ring_.channel_->receive(receive_slot(item), into, wire_.bytes(part), ring_.group_.neighbour(-1));
  }
  void take() {
    const int64_t item = received_++;
    const Span part = received_segment(item);
    ring_.channel_->wait(receive_slot(item));
    if (adds_) {
      wire_.decode_add(ring_.incoming(item), part);
    } else if (!is_direct()) {
      wire_.decode(ring_.incoming(item), part);
    }
    if (item + kSlots < items_) post(item + kSlots);
  }
  static int receive_slot(int64_t item) { return kSlots + static_cast<int>(item % kSlots); }

  RingStage& ring_;
  Span span_;
  Wire wire_;
  int first_piece_;                                                 // that this member sends first
  bool adds_;                                                       // reduce-scatter; else all-gather
  int64_t elements_ = 0, segments_ = 0, items_ = 0, received_ = 0;  // of a segment; of a piece; of the pass; so far
};

RingStage::RingStage(Communicator& world, Group group, const WireFormat& format)
    : group_(std::move(group)),
      format_(format),
      buffers_(2 * kSlots * kSegment),
      channel_(world.open_channel(2 * kSlots, Traffic::kBulk)) {}

size_t RingStage::wire_bytes(const Span& span) const { return Wire(format_, span.type).bytes(span); }

// The piece that a member ends with is the one before which it starts, so that member i ends with piece i.
void RingStage::reduce_scatter(const Span& span) { Pass(*this, span, group_.position - 1, true).run(); }

void RingStage::all_gather(const Span& span) {
  const Wire wire(format_, span.type);
  // What others get of this piece has gone through 16 bits: its owner rounds it as well, so that all ranks hold the
  // same bits.
  const Span mine = span.piece(group_.position, group_.size());
  constexpr int64_t kElements = kSegment / sizeof(float);
  for (int64_t begin = 0; wire.packs() && begin < mine.count; begin += kElements) {
    wire.share(mine.part(begin, std::min(begin + kElements, mine.count)), outgoing(0));
  }
  Pass(*this, span, group_.position, false).run();
}

}  // namespace robusta
