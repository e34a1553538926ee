// The links of one rank to its parent and its children: made at the start, and again when one breaks or falls silent. A
// caller counts only when its token has been checked.

#include "comm/liveness/mesh.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace robusta::liveness {
namespace {

constexpr size_t kMaxRetired = 4;

Invited invited(RankId rank, const Neighbours& neighbours, const Roster& roster) {
  Invited result;
  result.host = rank;
  result.token = roster[RankId(0)].token;
  result.ranks = {neighbours.children.begin(), neighbours.children.end()};
  result.addresses = {htonl(INADDR_LOOPBACK)};
  for (const RankId child : neighbours.children) {
    for (const NetworkAddress& its : addresses_of(roster[child])) {
      result.addresses.insert(its.address);
    }
  }
  return result;
}

}  // namespace

Mesh::Mesh(RankId rank, const Neighbours& neighbours, const Roster& roster, std::optional<Listener> listener,
           const Timing& timing)
    : rank_(rank),
      parent_(neighbours.parent),
      ranks_(static_cast<int>(roster.size())),
      guests_(std::move(listener), invited(rank, neighbours, roster)),
      timeout_(timing.timeout),
      patience_(std::min(10.0, std::max(3 * timing.beat, timing.timeout / 6))) {
  for (const RankId child : neighbours.children) peers_[child];
  if (!parent_) return;
  peers_[parent_];
  Hello hello;
  hello.from = rank;
  hello.to = parent_;
  hello.token = roster[RankId(0)].token;
  const bool same_host = std::count(neighbours.remote.begin(), neighbours.remote.end(), parent_) == 0;
  caller_.emplace(roster[parent_], hello, same_host);
}

void Mesh::wait(double now, double seconds, int wake) {
  std::vector<pollfd> polled{{wake, POLLIN, 0}};
  std::vector<Peer*> linked;
  for (auto& [rank, peer] : peers_) {
    peer.readable = false;
    if (!peer.link) continue;
    linked.push_back(&peer);
    const int unsent = peer.link->has_unsent() ? POLLOUT : 0;
    polled.push_back({peer.link->fd(), static_cast<short>(POLLIN | unsent), 0});
  }
  seconds = std::min(seconds, guests_.add_to(polled, now));
  if (caller_) caller_->add_to(polled);
  const int milliseconds = static_cast<int>(std::ceil(std::max(seconds, 0.0) * 1000));
  if (poll(polled.data(), polled.size(), milliseconds) <= 0) return;
  // Errors and ends of a connection, too: reading tells which it is, after what was said before.
  for (size_t i = 0; i < linked.size(); ++i) linked[i]->readable = (polled[i + 1].revents & ~POLLOUT) != 0;
}

void Mesh::receive(WatchState& state, double now) {
  for (auto& [rank, peer] : peers_) serve_peer(rank, peer, state, now);
  for (Arrival& arrival : guests_.serve(now)) take_in(std::move(arrival), state, now);
  if (parent_) serve_parent(state, now);
}

void Mesh::serve_peer(RankId rank, Peer& peer, WatchState& state, double now) {
  if (!peer.link || !std::exchange(peer.readable, false)) return;
  std::vector<Frame> frames;
  const Link::Outcome outcome = peer.link->receive(frames);
  for (const Frame& frame : frames) hear(rank, frame, state, now);
  if (outcome == Link::Outcome::kOver) end(rank, state, now);
  if (outcome == Link::Outcome::kBroken) peer.link.reset();
}

void Mesh::serve_parent(WatchState& state, double now) {
  Peer& parent = peers_[parent_];
  if (parent.over) return;
  if (parent.link && now - parent.heard_at <= patience_) return caller_->give_up();
  if (auto reached = caller_->call(now)) {
    parent_address_ = reached->address;
    if (parent.link) retired_.push_back(std::move(*parent.link));
    if (retired_.size() > kMaxRetired) retired_.erase(retired_.begin());
    set_up(parent_, std::move(reached->link), state, now);
  } else if (parent_address_ && caller_->is_refused(*parent_address_)) {
    end(parent_, state, now);
  }
  std::vector<Frame> ignored;
  std::erase_if(retired_, [&](Link& link) { return link.receive(ignored) != Link::Outcome::kOpen; });
}

void Mesh::take_in(Arrival arrival, WatchState& state, double now) {
  // What the old link still holds comes before what the new one says.
  Peer& peer = peers_[arrival.from];
  peer.readable = true;
  serve_peer(arrival.from, peer, state, now);
  set_up(arrival.from, std::move(arrival.link), state, now);
  for (const Frame& frame : arrival.frames) hear(arrival.from, frame, state, now);
  if (arrival.outcome == Link::Outcome::kOver) end(arrival.from, state, now);
}

void Mesh::set_up(RankId rank, Link link, WatchState& state, double now) {
  Peer& peer = peers_[rank];
  if (peer.over) return;
  link.keep_trying(2 * timeout_ + 60);
  peer.link = std::move(link);
  peer.heard_at = now;
  for (const auto& outgoing : state.greeting(rank, now)) queue(*peer.link, outgoing.message);
  peer.link->send();
}

void Mesh::hear(RankId rank, const Frame& frame, WatchState& state, double now) {
  Beat beat;
  Verdict verdict;
  const bool is_beat = frame.type == FrameType::kBeat && unpack(frame, beat) && is_sane(beat, rank, ranks_);
  const bool is_verdict = frame.type == FrameType::kVerdict && unpack(frame, verdict) && is_sane(verdict, ranks_);
  LoadReport load;
  const bool is_load = frame.type == FrameType::kLoad && unpack(frame, load) && is_sane(load, ranks_);
  if (is_load && rank != parent_) loads_.emplace_back(rank, load);
  // Who has the token may still send anything: it is as if nothing had come.
  if (!is_beat && !is_verdict) return;
  peers_[rank].heard_at = now;
  if (is_beat) state.hear(rank, beat, now);
  if (is_verdict) state.hear(rank, verdict, now);
}

void Mesh::end(RankId rank, WatchState& state, double now) {
  peers_[rank].over = true;
  peers_[rank].link.reset();
  state.hear_end(rank, now);
}

void Mesh::send(WatchState& state) {
  for (const auto& outgoing : state.take_outgoing()) {
    Peer& peer = peers_[outgoing.peer];
    if (peer.link) queue(*peer.link, outgoing.message);
  }
  // An end shows when reading, after what the peer said last.
  for (auto& [rank, peer] : peers_) {
    if (peer.link && peer.link->has_unsent()) peer.link->send();
  }
}

void Mesh::send_load(const LoadReport& report) {
  const auto parent = peers_.find(parent_);
  if (parent == peers_.end() || !parent->second.link) return;
  parent->second.link->queue(FrameType::kLoad, &report, sizeof report);
  parent->second.link->send();
}

void Mesh::queue(Link& link, const std::variant<Beat, Verdict>& message) {
  if (const Beat* beat = std::get_if<Beat>(&message)) link.queue(FrameType::kBeat, beat, sizeof *beat);
  if (const Verdict* verdict = std::get_if<Verdict>(&message))
    link.queue(FrameType::kVerdict, verdict, sizeof *verdict);
}

std::vector<RankId> Mesh::up() const {
  std::vector<RankId> result;
  for (const auto& [rank, peer] : peers_) {
    if (peer.link) result.push_back(rank);
  }
  return result;
}

void Mesh::finish_sending() {
  for (auto& [rank, peer] : peers_) {
    if (peer.link) peer.link->finish_sending();
  }
}

bool Mesh::has_unsent() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& item) { return item.second.link && item.second.link->has_unsent(); });
}

bool Mesh::all_closed() const {
  return std::none_of(peers_.begin(), peers_.end(), [](const auto& item) { return item.second.link.has_value(); });
}

}  // namespace robusta::liveness
