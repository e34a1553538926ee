/// A job of watches under a clock that a test drives: no sockets, no threads, hundreds of ranks.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/liveness/watch_state.h"

namespace robusta::test {

using namespace liveness;

/// `hosts` x `per_host` ranks, host by host. Each rank computes and moves unless told otherwise.
class SimJob {
 public:
  /// `linked`: all links are up when the watches start.
  SimJob(int hosts, int per_host, bool linked = true) {
    for (int rank = 0; rank < hosts * per_host; ++rank) names_.push_back("host" + std::to_string(rank / per_host));
    for (int rank = 0; rank < size(); ++rank) {
      nodes.emplace_back(rank, find_neighbours(names_, RankId(rank)), timing);
    }
    for (Node& node : nodes) node.state.start(now, linked ? node.links : std::vector<RankId>());
  }

  struct Node {
    Node(int rank, const Neighbours& neighbours, const Timing& timing)
        : rank(rank), links(neighbours.children), state(RankId(rank), neighbours, timing) {
      if (neighbours.parent) links.push_back(neighbours.parent);
      sample.activity = Activity::kComputing;
    }
    int rank;
    std::vector<RankId> links;
    WatchState state;
    Sample sample;
    bool moves = true;     ///< its training thread goes on
    bool stopped = false;  ///< SIGSTOP: the watch stands still too
    bool dead = false;
    double ended_at = -1;  ///< by a verdict or after all have finished
  };

  int size() const { return static_cast<int>(names_.size()); }
  int host_of(RankId rank) const { return std::stoi(names_[rank].substr(4)); }

  /// Packets to and from the host vanish; TCP delivers them when it is healed.
  void cut(int host) { cut_.insert(host); }
  void heal(int host) { cut_.erase(host); }

  /// The process is gone; the kernel of its host tells its neighbours.
  void kill(int rank) {
    Node& node = nodes[static_cast<size_t>(rank)];
    node.dead = true;
    for (const RankId peer : node.links) wire_.push_back({now + 0.001, RankId(rank), peer, std::nullopt});
  }
  void crash_host(int host) {
    cut(host);
    for (Node& node : nodes) node.dead |= host_of(RankId(node.rank)) == host;
  }

  void run(double seconds) {
    for (const double end = now + seconds; now < end; now += step) advance();
  }

  bool lives(const Node& node) const { return !node.dead && node.ended_at < 0; }
  std::vector<int> reporters(Say say) const {
    std::vector<int> result;
    for (const Node& node : nodes) {
      if (!node.dead && !node.stopped && node.state.verdict() && node.state.say() == say) result.push_back(node.rank);
    }
    return result;
  }
  /// When the last of the ranks that could end has ended; NaN when one of them lives on.
  double last_end() const {
    double last = 0;
    for (const Node& node : nodes) {
      if (node.dead || node.stopped) continue;
      if (node.ended_at < 0) return NAN;
      last = std::max(last, node.ended_at);
    }
    return last;
  }

  double step = 0.05;  ///< between two looks of each watch
  Timing timing;
  std::vector<Node> nodes;
  double now = 1000;
  int64_t messages = 0;
  std::map<int, int64_t> sent_by;

 private:
  struct Packet {
    double at;
    RankId from, to;
    std::optional<std::variant<Beat, Verdict>> message;  ///< nothing: the connection's end
  };

  bool crosses_cut(const Packet& packet) const {
    const int from = host_of(packet.from), to = host_of(packet.to);
    return from != to && (cut_.count(from) + cut_.count(to)) > 0;
  }

  void deliver() {
    std::deque<Packet> kept;
    for (const Packet& packet : std::exchange(wire_, {})) {
      Node& to = nodes[packet.to.index()];
      if (to.dead || to.ended_at >= 0) continue;
      if (packet.at > now || to.stopped || crosses_cut(packet)) {
        kept.push_back(packet);
      } else if (!packet.message) {
        to.state.hear_end(packet.from, now);
      } else {
        std::visit([&](const auto& message) { to.state.hear(packet.from, message, now); }, *packet.message);
      }
    }
    kept.insert(kept.end(), wire_.begin(), wire_.end());
    wire_ = std::move(kept);
  }

  void advance() {
    deliver();
    for (Node& node : nodes) {
      if (!lives(node) || node.stopped) continue;
      if (node.moves) ++node.sample.moves;
      node.state.sample(node.sample, now);
      node.state.tick(now);
      for (const auto& outgoing : node.state.take_outgoing()) {
        wire_.push_back({now + 0.01, RankId(node.rank), outgoing.peer, outgoing.message});
        ++messages;
        ++sent_by[node.rank];
      }
      if (node.state.ends(now) || node.state.done()) end(node);
    }
  }

  void end(Node& node) {
    node.ended_at = now;
    for (const RankId peer : node.links) wire_.push_back({now + 0.02, RankId(node.rank), peer, std::nullopt});
  }

  IdVector<RankId, std::string> names_;
  std::set<int> cut_;
  std::deque<Packet> wire_;
};

}  // namespace robusta::test
