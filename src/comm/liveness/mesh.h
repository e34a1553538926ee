/// The sockets of one watch: links to its neighbours, kept up.
///
/// A rank calls its parent and is called by its children, at the start and again when a link breaks or falls silent:
/// after a cut has healed, TCP would wait for its next retransmission, up to two minutes, and a new connection does
/// not. What is sent is always the present state, so a link that takes another's place needs no memory of it. Only an
/// end that the peer's own system tells of (end of file, reset, nobody listening any more) counts as the end of the
/// process; all other errors are silence. The watch's thread alone uses it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/liveness/caller.h"
#include "comm/liveness/guests.h"
#include "comm/liveness/link.h"
#include "comm/liveness/overload.h"
#include "comm/liveness/tree.h"
#include "comm/liveness/watch_state.h"

namespace robusta::liveness {

class Mesh {
 public:
  /// `listener`: for the children, where there are any.
  Mesh(RankId rank, const Neighbours& neighbours, const Roster& roster, std::optional<Listener> listener,
       const Timing& timing);

  /// Sleeps until something arrives, `wake` becomes readable, or the time is over.
  void wait(double now, double seconds, int wake);
  /// Tells `state` what has arrived, and keeps links up.
  void receive(WatchState& state, double now);
  /// Sends what `state` has to say.
  void send(WatchState& state);
  /// For the parent; lost when the link is down, as the next one says more.
  void send_load(const LoadReport& report);
  /// What children have said of the load of hosts since the last call.
  std::vector<std::pair<RankId, LoadReport>> take_loads() { return std::exchange(loads_, {}); }

  bool is_up(RankId peer) const { return peers_.at(peer).link.has_value(); }
  std::vector<RankId> up() const;
  /// Why the parent cannot be reached.
  std::string why_down() const { return caller_ ? caller_->why() : ""; }

  /// Says that nothing more will be sent; all_closed() once the neighbours have done so too.
  void finish_sending();
  bool has_unsent() const;
  bool all_closed() const;

 private:
  struct Peer {
    std::optional<Link> link;
    double heard_at = 0;
    bool readable = false;
    bool over = false;
  };
  void serve_parent(WatchState& state, double now);
  void serve_peer(RankId rank, Peer& peer, WatchState& state, double now);
  void take_in(Arrival arrival, WatchState& state, double now);
  void set_up(RankId rank, Link link, WatchState& state, double now);
  void hear(RankId rank, const Frame& frame, WatchState& state, double now);
  void end(RankId rank, WatchState& state, double now);
  static void queue(Link& link, const std::variant<Beat, Verdict>& message);

  RankId rank_, parent_;
  int ranks_;
  Guests guests_;
  double timeout_;   ///< seconds
  double patience_;  ///< seconds of silence after which the parent is called anew
  std::map<RankId, Peer> peers_;
  std::vector<std::pair<RankId, LoadReport>> loads_;  ///< heard of children, and not taken yet
  std::optional<Caller> caller_;                      ///< of the parent; none on rank 0
  std::optional<Address> parent_address_;             ///< over which the parent was last reached
  std::vector<Link> retired_;  ///< replaced links to the parent, which closes them when it has taken the new one
};

}  // namespace robusta::liveness
