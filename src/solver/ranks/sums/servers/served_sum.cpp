// Pushes and pulls follow Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server", section 3.
// A bucket's gradients leave as soon as they are summed, while backward goes on; its weights come back into the same
// memory.
#include "solver/ranks/sums/servers/served_sum.h"

#include <cstring>

#include "base/log.h"
#include "base/str.h"
#include "solver/ranks/sums/parts.h"

namespace robusta {

ServedSum::ServedSum(Ranks& ranks, Net& net, Buckets gradients, const Bucket& tail, std::unique_ptr<AllReduce> sum,
                     std::vector<std::string> notes)
    : CarryingSum(net, gradients, tail, std::move(sum), std::move(notes)),
      ranks_(ranks),
      group_(ranks.group()),
      division_(gradients, ranks.options().served.servers),
      lines_(open_lines(ranks.gradients(), ranks.options().served.groups, ranks.options().served.servers)),
      heads_(static_cast<size_t>(division_.servers())) {
  if (!group_.alone()) to_group_ = group_.gradients().duplicate();
  if (is_root()) channel_ = line().open_channel(head_slot(division_.servers()), Traffic::kBulk);
  for (const BucketId b : IdRange(BucketId(0), last_sum())) {
    const ElementRange mine = ranks.serves() ? division_.part(b, server()) : ElementRange{};
    if (!mine.empty()) own_pieces_.push_back(bytes_of(mine));
    for (const Piece& piece : pieces(b)) {
      const auto first = static_cast<int64_t>(piece.place / size_of(type_));
      own_[piece.param] = mine.within({first, first + piece.param->desc.count()});
    }
  }
}

std::byte* ServedSum::at(BucketId bucket, int64_t element) const {
  return static_cast<std::byte*>(buckets_[bucket].data) + static_cast<size_t>(element) * size_of(type_);
}

void ServedSum::complete(BucketId bucket) {
  if (!carries_weights(bucket)) StagedSum::complete(bucket);
}

void ServedSum::sum(BucketId bucket) {
  if (carries_weights(bucket)) return pull(bucket);
  if (bucket == BucketId(0) && is_root()) announce(Push::kGradients);
  if (stream_ && bucket != last_sum()) ranges_[bucket].copied->wait();
  const Bucket& b = buckets_[bucket];
  if (!group_.alone()) all_reduce_->sum(b.data, b.count, type_, b.exact);
  if (bucket == last_sum()) return exchange_votes();
  if (is_root()) push(bucket);
}

void ServedSum::announce(Push what) {
  for (int s = 0; s < division_.servers(); ++s) {
    channel_->wait(head_slot(s));
    Push& head = heads_[static_cast<size_t>(s)] = what;
    channel_->send(head_slot(s), &head, sizeof head, 1 + s);
  }
}

void ServedSum::push(BucketId gradients) {
  for (int s = 0; s < division_.servers(); ++s) {
    const ElementRange part = division_.part(gradients, s);
    if (!part.empty()) channel_->send(slot(gradients, s), at(gradients, part.begin), bytes_of(part), 1 + s);
  }
}

void ServedSum::exchange_votes() {
  const std::span<std::byte> votes = tail_of(buckets_[last_sum()], type_);
  if (is_root()) {
    for (int s = 0; s < division_.servers(); ++s) channel_->send(votes_slot(s), votes.data(), votes.size(), 1 + s);
    for (int s = 0; s < division_.servers(); ++s) channel_->wait(votes_slot(s));
    channel_->receive(votes_slot(0), &answer_, sizeof answer_, 1);
    channel_->wait(votes_slot(0));
  }
  if (to_group_) to_group_->broadcast(&answer_, sizeof answer_, 0);
  write_votes(answer_.votes, type_, votes.data());
}

void ServedSum::pull(BucketId weights) {
  const BucketId gradients = weights_of(weights);  // the two have each other's place from the two ends
  if (is_root()) {
    for (int s = 0; s < division_.servers(); ++s) {
      const ElementRange part = division_.part(gradients, s);
      if (part.empty()) continue;
      channel_->wait(slot(gradients, s));
      channel_->receive(slot(gradients, s), at(weights, part.begin), bytes_of(part), 1 + s);
    }
    for (int s = 0; s < division_.servers(); ++s) channel_->wait(slot(gradients, s));
  }
  const Bucket& b = buckets_[weights];
  if (to_group_) to_group_->broadcast(b.data, static_cast<size_t>(b.count) * size_of(type_), 0);
}

void ServedSum::deliver(BucketId bucket) {
  if (!carries_weights(bucket)) return;
  for (const Piece& piece : pieces(bucket)) put(bucket, piece, {0, piece.param->desc.count()});
  has_put(bucket);
}

void ServedSum::pause() {
  paused_ = true;
  if (!is_root()) return;
  announce(Push::kPause);
  for (int s = 0; s < division_.servers(); ++s) channel_->wait(head_slot(s));
}

std::optional<ElementRange> ServedSum::own(const Param& param) const {
  const auto found = own_.find(&param);
  if (found == own_.end()) return std::nullopt;
  return found->second;
}

/// Workers own nothing that could be summed, and the servers have all of it.
void ServedSum::sum(std::span<double> values) {
  if (ranks_.serves()) group_.sum(values);
}

std::vector<float> ServedSum::whole(const Param& param, const std::vector<float>& own) {
  return whole_of_parts(ranks_, param, own_.at(&param), own);
}

void ServedSum::gather_weights() {
  const Ranks::Waiting waiting(ranks_);
  net_.stream().synchronize();  // a device still takes the last round's weights from where these travel
  for (BucketId b = last_sum() + 1; b < buckets_.end_id(); ++b) {
    if (ranks_.serves()) {
      for (const Piece& piece : pieces(b)) take(b, piece, own_.at(piece.param));
      net_.stream().synchronize();
    }
    for (int s = 0; s < division_.servers(); ++s) {
      const ElementRange part = division_.part(weights_of(b), s);
      if (!part.empty()) ranks_.control().broadcast(at(b, part.begin), bytes_of(part), ranks_.workers() + s);
    }
    for (const Piece& piece : pieces(b)) {
      const ElementRange mine = own_.at(piece.param);
      put(b, piece, {0, mine.begin});
      put(b, piece, {mine.end, piece.param->desc.count()});
    }
    has_put(b);
  }
  net_.stream().synchronize();
}

void ServedSum::meet(Staleness late) {
  gather_weights();
  if (ranks_.options().served.in_step()) return;
  ranks_.sum(late.numbers());
  if (const std::string text = late.describe(); !text.empty() && ranks_.root())
    LOG_INFO << "Gradients came late, by updates of other groups: " << text;
}

size_t ServedSum::own_bytes() const { return bytes_of(division_.share(server())); }

void ServedSum::put_gradients(const void* values) {
  const auto* from = static_cast<const std::byte*>(values);
  for (const BucketId b : IdRange(BucketId(0), last_sum())) {
    const ElementRange part = division_.part(b, server());
    if (part.empty()) continue;
    std::memcpy(at(b, part.begin), from, bytes_of(part));
    from += bytes_of(part);
    StagedSum::deliver(b);
  }
  if (stream_) net_.stream().synchronize();
}

void ServedSum::take_weights(void* values) {
  const int64_t first = division_.share(server()).begin;
  for (const BucketId b : IdRange(BucketId(0), last_sum())) {
    for (const Piece& piece : pieces(b)) {
      const ElementRange mine = own_.at(piece.param);
      if (mine.empty()) continue;
      const int64_t place =
          division_.begin(b) + static_cast<int64_t>(piece.place / size_of(type_)) + mine.begin - first;
      const size_t element = size_of(type_);
      net_.stream().copy_to_host(
          static_cast<std::byte*>(values) + static_cast<size_t>(place) * element,
          static_cast<const std::byte*>(piece.param->data) + static_cast<size_t>(mine.begin) * element, bytes_of(mine));
    }
  }
  net_.stream().synchronize();
}

std::string ServedSum::describe() const {
  const ServerOptions& served = ranks_.options().served;
  const std::string inside = group_.alone() ? "" : str("sums within a group by ", all_reduce_->describe(), "; ");
  return str(
      inside, division_.servers(), division_.servers() == 1 ? " server holds" : " servers hold", " the parameters for ",
      served.groups, " groups, ",
      served.in_step() ? std::string("all in step") : str("gradients up to ", served.max_staleness, " rounds late"));
}

}  // namespace robusta
